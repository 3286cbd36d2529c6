// One rank of NCCL, alone: an all-reduce by itself, two of a group on two streams, one in a capture.
#include <unistd.h>

#include <cstddef>

extern "C" {
int ncclCommInitAll(void** comm, int devices, const int* list);
int ncclAllReduce(const void*, void*, size_t, int type, int op, void* comm, void* stream);
int ncclGroupStart();
int ncclGroupEnd();
int ncclCommDestroy(void* comm);
int cudaSetDevice(int);
int cudaMalloc(void**, size_t);
int cudaStreamCreateWithFlags(void** stream, unsigned flags);
int cudaStreamSynchronize(void* stream);
int cudaStreamBeginCapture(void* stream, int mode);
int cudaStreamEndCapture(void* stream, void** graph);
int cudaGraphDestroy(void* graph);
}

int main() {
  void *comm = nullptr, *memory = nullptr, *streams[2] = {}, *graph = nullptr;
  cudaSetDevice(0);
  cudaMalloc(&memory, 1024);
  for (void*& stream : streams) cudaStreamCreateWithFlags(&stream, 1);
  if (ncclCommInitAll(&comm, 1, nullptr)) return 1;
  auto reduce = [&](void* stream) { return ncclAllReduce(memory, memory, 16, 7, 0, comm, stream); };
  if (reduce(streams[0])) return 2;
  ncclGroupStart();
  reduce(streams[0]);
  reduce(streams[1]);
  reduce(streams[1]);
  if (ncclGroupEnd()) return 3;
  for (void* stream : streams) cudaStreamSynchronize(stream);
  cudaStreamBeginCapture(streams[0], 0);
  reduce(streams[0]);
  if (cudaStreamEndCapture(streams[0], &graph)) return 4;
  cudaGraphDestroy(graph);  // before the communicator: else that is not given up
  usleep(300000);
  return ncclCommDestroy(comm);
}
