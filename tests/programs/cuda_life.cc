// A program of the CUDA runtime on the doubles: kernels, streams, failures, polls, a capture. It prints what it did, a
// "name value" a line, for the test to compare with what was recorded. Declarations by hand: no CUDA is needed to build
// it.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

struct dim3 {
  unsigned x, y, z;
};
using Stream = void*;
extern "C" {
void __cudaRegisterFunction(void**, const char* host_function, char*, const char* name, int, void*, void*, void*, void*,
                            int*);
int __cudaGetKernel(void** kernel, const void* host_function);
int __cudaLaunchKernel(void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, Stream stream);
int cudaLaunchKernel(const void*, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, Stream stream);
int cudaLaunchKernel_ptsz(const void*, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, Stream stream);
int cudaLaunchKernelExC(const void* config, const void* function, void** arguments);
int cudaSetDevice(int);
int cudaGetLastError();
int cudaMalloc(void**, size_t);
int cudaFree(void*);
int cudaMemcpy(void*, const void*, size_t, int);
int cudaMemcpyAsync(void*, const void*, size_t, int, Stream);
int cudaStreamCreateWithPriority(Stream*, unsigned flags, int priority);
int cudaStreamDestroy(Stream);
int cudaStreamQuery(Stream);
int cudaStreamSynchronize(Stream);
int cudaStreamBeginCapture(Stream, int mode);
int cudaStreamEndCapture(Stream, void** graph);
int cudaGraphInstantiate(void** exec, void* graph, unsigned long long flags);
int cudaGraphLaunch(void* exec, Stream);
int cudaGraphExecDestroy(void* exec);
int cudaGraphDestroy(void* graph);
int cudaEventCreate(void**);
int cudaEventRecord(void*, Stream);
int cudaEventQuery(void*);
int cudaEventSynchronize(void*);
int cudaEventDestroy(void*);
int cudaDeviceSynchronize();
}

namespace {

constexpr dim3 kGrid = {3, 2, 2}, kBlock = {64, 2, 1};
char g_add, g_scale;  // stand for host functions
const void *const kAdd = &g_add, *const kScale = &g_scale;
Stream const kPerThread = reinterpret_cast<Stream>(2);

// What nvcc's code does before main, when nothing of a preloaded library has been used.
[[gnu::constructor]] void Register() {
  __cudaRegisterFunction(nullptr, &g_add, nullptr, "_Z3addPfS_i", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  __cudaRegisterFunction(nullptr, &g_scale, nullptr, "_Z5scalePff", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
}

void Kernels() {
  cudaLaunchKernel(kAdd, kGrid, kBlock, nullptr, 0, nullptr);
  cudaLaunchKernel(kAdd, kGrid, kBlock, nullptr, 0, nullptr);
  cudaLaunchKernel_ptsz(kScale, kGrid, kBlock, nullptr, 0, nullptr);
  void* kernel = nullptr;
  __cudaGetKernel(&kernel, kAdd);
  __cudaLaunchKernel(kernel, kGrid, kBlock, nullptr, 0, kPerThread);
  struct {
    dim3 grid = kGrid, block = kBlock;
    size_t shared_bytes = 0;
    Stream stream = nullptr;
    void* attributes = nullptr;
    unsigned count = 0;
  } config;
  cudaLaunchKernelExC(&config, kScale, nullptr);
  printf("launch-failed %d\n", cudaLaunchKernel(kAdd, kGrid, kBlock, nullptr, 0, reinterpret_cast<Stream>(0x1230)));
  cudaGetLastError();
}

void Streams() {
  for (int turn = 0; turn < 2; ++turn) {
    Stream stream = nullptr;
    cudaStreamCreateWithPriority(&stream, 1, -1 - turn);
    cudaLaunchKernel(kAdd, kGrid, kBlock, nullptr, 0, stream);
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    printf("stream-%d %lu\n", turn, reinterpret_cast<uintptr_t>(stream));
  }
  std::thread([] { cudaLaunchKernel(kAdd, kGrid, kBlock, nullptr, 0, kPerThread); }).join();
}

void Failures() {
  void* memory = nullptr;
  printf("malloc %d\n", cudaMalloc(&memory, size_t{1} << 60));
  printf("last-error %d\n", cudaGetLastError());
  printf("last-error-again %d\n", cudaGetLastError());
}

void Polls() {
  Stream stream = nullptr;
  void* event = nullptr;
  cudaStreamCreateWithPriority(&stream, 1, 0);
  cudaEventCreate(&event);
  cudaLaunchKernel(kAdd, kGrid, kBlock, nullptr, 0, stream);
  cudaEventRecord(event, stream);
  long stream_polls = 0, event_polls = 0;
  while (cudaStreamQuery(stream) != 0) ++stream_polls;
  cudaLaunchKernel(kAdd, kGrid, kBlock, nullptr, 0, stream);
  cudaEventRecord(event, stream);
  while (cudaEventQuery(event) != 0) ++event_polls;
  cudaEventSynchronize(event);
  cudaEventDestroy(event);
  cudaStreamDestroy(stream);
  printf("stream-polls %ld\nevent-polls %ld\nevent %lu\n", stream_polls, event_polls,
         reinterpret_cast<uintptr_t>(event));
  cudaGetLastError();
}

void Capture() {
  Stream stream = nullptr;
  void *memory = nullptr, *graph = nullptr, *exec = nullptr;
  static char host[64];
  cudaMalloc(&memory, 64);
  cudaStreamCreateWithPriority(&stream, 1, 0);
  cudaStreamBeginCapture(stream, 0);
  cudaLaunchKernel(kScale, kGrid, kBlock, nullptr, 0, stream);
  cudaMemcpyAsync(memory, host, 64, 1, stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, stream);
  cudaStreamSynchronize(stream);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaMemcpy(host, memory, 64, 2);
  cudaFree(memory);
  printf("graph %lu\nexec %lu\nmemory %lu\n", reinterpret_cast<uintptr_t>(graph), reinterpret_cast<uintptr_t>(exec),
         reinterpret_cast<uintptr_t>(memory));
}

}  // namespace

int main() {
  cudaSetDevice(1);
  Kernels();
  Streams();
  Failures();
  Polls();
  Capture();
  cudaDeviceSynchronize();
  // For what is told after the device has done it.
  if (const char* ms = getenv("LINGER_MS")) usleep(static_cast<useconds_t>(atoi(ms)) * 1000);
}
