// graph K N: captures K launches into a graph and launches that N times.
#include "check.h"

__global__ void AddOne(int* value) { *value += 1; }

int main(int argc, char** argv) {
  int kernels = argc > 1 ? atoi(argv[1]) : 3, times = argc > 2 ? atoi(argv[2]) : 5;
  int *value = nullptr, host = -1;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMalloc(&value, sizeof(int)));
  CHECK(cudaMemset(value, 0, sizeof(int)));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < kernels; ++i) AddOne<<<1, 1, 0, stream>>>(value);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < times; ++i) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemcpy(&host, value, sizeof(int), cudaMemcpyDeviceToHost));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  bool right = host == kernels * times || OnDouble();
  printf("graph %s\n", right ? "right" : "wrong");
  return right ? 0 : 3;
}
