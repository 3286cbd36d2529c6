// Who launches by the driver: with -DRUNTIME a libcudart.so.13, with -DNCCL a libnccl.so.2, else a program that calls
// both and the driver itself. Each finds the driver as real ones do.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

struct dim3 {
  unsigned x, y, z;
};
using Launch = int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);

static Launch* FindLaunch() {
  using LookUp = int(const char*, void**, int, unsigned long, int*);
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  auto* look_up = reinterpret_cast<LookUp*>(dlsym(driver, "cuGetProcAddress_v2"));
  void* function = nullptr;
  int status;
  look_up("cuLaunchKernel", &function, 13000, 0, &status);
  return reinterpret_cast<Launch*>(function);
}

static int LaunchBlocks(unsigned blocks, void* stream) {
  static Launch* launch = FindLaunch();
  return launch(reinterpret_cast<void*>(0x7000), blocks, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
}

extern "C" {
#if defined(RUNTIME)
int cudaRuntimeGetVersion(int* version) { return *version = 13000, 0; }
int cudaGetDevice(int* device) { return *device = 0, 0; }
int cudaLaunchKernel(const void*, dim3 grid, dim3, void**, size_t, void* stream) {
  return LaunchBlocks(grid.x, stream);
}
#elif defined(NCCL)
int pncclGetVersion(int* version) { return *version = 22809, 0; }
int ncclAllReduce(const void*, void*, size_t, int, int, void*, void* stream) { return LaunchBlocks(6, stream); }
#else
int cudaLaunchKernel(const void*, dim3 grid, dim3 block, void**, size_t, void* stream);
int ncclAllReduce(const void*, void*, size_t, int, int, void*, void* stream);
#endif
}

#if !defined(RUNTIME) && !defined(NCCL)
int main() {
  void* stream = reinterpret_cast<void*>(0x5000);
  cudaLaunchKernel(nullptr, {8, 1, 1}, {32, 1, 1}, nullptr, 0, stream);
  ncclAllReduce(nullptr, nullptr, 1, 7, 0, nullptr, stream);
  LaunchBlocks(4, stream);
}
#endif
