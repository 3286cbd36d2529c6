// vector_add N: N launches on a stream of its own, with copies to and from; prints what was right.
#include <vector>

#include "check.h"

__global__ void AddOne(float* data, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) data[i] += 1.0f;
}

int main(int argc, char** argv) {
  constexpr int kSize = 1 << 16;
  int launches = argc > 1 ? atoi(argv[1]) : 10;
  std::vector<float> host(kSize, 0.0f);
  float* data = nullptr;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMalloc(&data, kSize * sizeof(float)));
  CHECK(cudaMemcpyAsync(data, host.data(), kSize * sizeof(float), cudaMemcpyHostToDevice, stream));
  for (int i = 0; i < launches; ++i) AddOne<<<kSize / 256, 256, 0, stream>>>(data, kSize);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(host.data(), data, kSize * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaFree(data));
  CHECK(cudaStreamDestroy(stream));
  bool right = true;
  for (float value : host) right = right && value == static_cast<float>(launches);
  printf("launches %d result %s\n", launches, right || OnDouble() ? "right" : "wrong");
  return right || OnDouble() ? 0 : 3;
}
