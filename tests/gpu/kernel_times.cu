// kernel_times N: N kernels that each spin for a time of their own, timed by events; prints "kernel <i> <ns>".
#include <unistd.h>

#include <vector>

#include "check.h"

__global__ void Spin(long long ns) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - begin < static_cast<unsigned long long>(ns));
}

int main(int argc, char** argv) {
  int count = argc > 1 ? atoi(argv[1]) : 8;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  Spin<<<1, 1, 0, stream>>>(1000);  // the first one loads the module
  CHECK(cudaStreamSynchronize(stream));
  std::vector<cudaEvent_t> events(2 * static_cast<size_t>(count));
  for (cudaEvent_t& event : events) CHECK(cudaEventCreate(&event));
  for (int i = 0; i < count; ++i) {
    CHECK(cudaEventRecord(events[2 * i], stream));
    Spin<<<1, 1, 0, stream>>>(500'000LL * (i + 1));
    CHECK(cudaEventRecord(events[2 * i + 1], stream));
    CHECK(cudaStreamSynchronize(stream));
  }
  for (int i = 0; i < count; ++i) {
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, events[2 * i], events[2 * i + 1]));
    printf("kernel %d %.0f\n", i, static_cast<double>(ms) * 1e6);
  }
  usleep(500'000);  // what is still to be seen of the device is looked for while the program runs
  return 0;
}
