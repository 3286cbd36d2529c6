// ns per call of CUDA or NCCL that does nothing: "name ns" a line, the median of batches. With -DLIBRARY the libcudart.so.13 it is
// linked to, which has the few functions of NCCL too. The difference between runs with and without libddbg.so is what recording adds (launch_cost.py).
#include <stddef.h>

typedef struct {
  unsigned x, y, z;
} dim3;

#ifdef LIBRARY
int cudaRuntimeGetVersion(int* version) { return *version = 13000, 0; }
int cudaGetDevice(int* device) { return *device = 0, 0; }
int cudaFuncGetName(const char** name, const void* function) { return (void)function, *name = "_Z4nonev", 0; }
int cudaLaunchKernel(const void* f, dim3 g, dim3 b, void** a, size_t n, void* s) {
  return (void)f, (void)g, (void)b, (void)a, (void)n, (void)s, 0;
}
int cudaStreamSynchronize(void* stream) { return (void)stream, 0; }
int cudaEventQuery(void* event) { return event ? 0 : 600; }
int pncclGetVersion(int* version) { return *version = 22809, 0; }
int ncclGetVersion(int* version) { return pncclGetVersion(version); }
int ncclCommCount(void* comm, int* count) { return (void)comm, *count = 8, 0; }
int ncclCommUserRank(void* comm, int* rank) { return (void)comm, *rank = 0, 0; }
int ncclCommCuDevice(void* comm, int* device) { return (void)comm, *device = 0, 0; }
int ncclCommInitAll(void** comm, int count, const int* devices) { return (void)count, (void)devices, *comm = (void*)0x7000, 0; }
int ncclAllReduce(const void* s, void* r, size_t n, int t, int o, void* c, void* st) {
  return (void)s, (void)r, (void)n, (void)t, (void)o, (void)c, (void)st, 0;
}
#else
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, void*);
int cudaStreamSynchronize(void*);
int cudaEventQuery(void*);
int ncclCommInitAll(void**, int, const int*);
int ncclAllReduce(const void*, void*, size_t, int, int, void*, void*);

enum { kBatches = 41, kCalls = 2000 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static int compare(const void* a, const void* b) { return (*(double*)a > *(double*)b) - (*(double*)a < *(double*)b); }

static char kernel;
static void launch(void) {
  dim3 grid = {8, 1, 1}, block = {256, 1, 1};
  cudaLaunchKernel(&kernel, grid, block, NULL, 0, (void*)0x5000);
}
static void launch_legacy(void) {
  dim3 grid = {8, 1, 1}, block = {256, 1, 1};
  cudaLaunchKernel(&kernel, grid, block, NULL, 0, NULL);
}
static void synchronize(void) { cudaStreamSynchronize((void*)0x5000); }
static void query(void) { cudaEventQuery(NULL); }
static void* comm;
static void all_reduce(void) { ncclAllReduce(&comm, &comm, 100, 7, 0, comm, (void*)0x5000); }

// `depth` frames of the program's own above the call.
static __attribute__((noinline)) void at_depth(int depth, void (*call)(void)) {
  if (depth > 0)
    at_depth(depth - 1, call);
  else
    for (int i = 0; i < kCalls; ++i) call();
  __asm__ volatile("");  // no tail call
}

static void measure(const char* name, int depth, void (*call)(void)) {
  double samples[kBatches];
  at_depth(depth, call);
  for (int b = 0; b < kBatches; ++b) {
    struct timespec pause = {0, 15000000};
    nanosleep(&pause, NULL);
    double start = now_ns();
    at_depth(depth, call);
    samples[b] = (now_ns() - start) / kCalls;
  }
  qsort(samples, kBatches, sizeof(double), compare);
  printf("%s %.1f\n", name, samples[kBatches / 2]);
}

int main(int argc, char** argv) {
  int depth = argc > 1 ? atoi(argv[1]) : 13;
  measure("launch", depth, launch);
  measure("launch-legacy", depth, launch_legacy);
  measure("synchronize", depth, synchronize);
  measure("query-not-ready", depth, query);
  ncclCommInitAll(&comm, 1, NULL);
  measure("ncclAllReduce", depth, all_reduce);
}
#endif
