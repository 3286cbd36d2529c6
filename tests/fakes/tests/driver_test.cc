#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/fakes/client/cuda.h"

namespace ddbg::fakes {
namespace {

constexpr int kLegacy = 1, kPerThread = 2;
constexpr int kFound = 0, kNoSymbol = 1, kTooOld = 2;
constexpr int kNotFound = 500;

class Driver : public testing::Test {
 protected:
  // What the driver exports under its full name.
  void* Exported(const char* name) {
    void* function = dlsym(library_, name);
    EXPECT_NE(function, nullptr) << name;
    return function;
  }

  void* Get(const char* name, int version, uint64_t flags = 0) {
    void* function = nullptr;
    result_ = get_(name, &function, version, flags, &status_);
    return function;
  }

  void* library_ = dlopen("libcuda.so.1", RTLD_NOW);
  int (*get_)(const char*, void**, int, uint64_t,
              int*) = reinterpret_cast<int (*)(const char*, void**, int, uint64_t, int*)>(dlsym(library_,
                                                                                                "cuGetProcAddress_v2"));
  int result_ = -1;
  int status_ = -1;
};

TEST_F(Driver, VersionChoosesTheAbi) {
  EXPECT_EQ(Get("cuGetProcAddress", 11030), Exported("cuGetProcAddress"));
  EXPECT_EQ(Get("cuGetProcAddress", 11080), Exported("cuGetProcAddress"));
  EXPECT_EQ(Get("cuGetProcAddress", 12000), Exported("cuGetProcAddress_v2"));
  EXPECT_EQ(Get("cuGetProcAddress", 13000), Exported("cuGetProcAddress_v2"));
  EXPECT_EQ(Get("cuMemAlloc", 13000), Exported("cuMemAlloc_v2"));
  EXPECT_EQ(result_, 0);
  EXPECT_EQ(status_, kFound);
}

TEST_F(Driver, FlagsChooseTheDefaultStream) {
  EXPECT_EQ(Get("cuLaunchKernel", 13000), Exported("cuLaunchKernel"));
  EXPECT_EQ(Get("cuLaunchKernel", 13000, kLegacy), Exported("cuLaunchKernel"));
  EXPECT_EQ(Get("cuLaunchKernel", 13000, kPerThread), Exported("cuLaunchKernel_ptsz"));
  EXPECT_EQ(Get("cuMemcpyDtoH", 13000, kPerThread), Exported("cuMemcpyDtoH_v2_ptds"));
  EXPECT_EQ(Get("cuCtxSynchronize", 13000, kPerThread), Exported("cuCtxSynchronize"));
}

TEST_F(Driver, NamesAreBaseNames) {
  for (const char* name : {"", "cuNothing", "cuMemAlloc_v2", "cuLaunchKernel_ptsz"}) {
    EXPECT_EQ(Get(name, 13000), nullptr) << name;
    EXPECT_EQ(result_, kNotFound) << name;
    EXPECT_EQ(status_, kNoSymbol) << name;
  }
  EXPECT_EQ(Get("cuLaunchKernelEx", 11050), nullptr);
  EXPECT_EQ(status_, kTooOld);
}

TEST_F(Driver, FirstAbiHasNoStatus) {
  auto old = reinterpret_cast<int (*)(const char*, void**, int, uint64_t)>(Get("cuGetProcAddress", 11030));
  void* function = nullptr;
  EXPECT_EQ(old("cuStreamSynchronize", &function, 11030, 0), 0);
  EXPECT_EQ(function, Exported("cuStreamSynchronize"));
  EXPECT_EQ(old("cuNothing", &function, 11030, 0), kNotFound);
}

// This program has the runtime inside: it is built with libnullcudart_static.a and not with libcudart.so.
TEST(StaticRuntime, GoesThroughTheDriver) {
  static const char kernel = 0;
  constexpr cudaDim3 kOne = {1, 1, 1};
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "cudaLaunchKernel"), nullptr);
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 8);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  __cudaRegisterFunction(nullptr, &kernel, nullptr, "_Z6Kernelv", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  EXPECT_EQ(cudaLaunchKernel(&kernel, kOne, kOne, nullptr, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel_ptsz(&kernel, kOne, kOne, nullptr, 0, nullptr), cudaSuccess);
  cudaLaunchConfig_t configuration = {kOne, kOne, 0, nullptr, nullptr, 0};
  EXPECT_EQ(cudaLaunchKernelExC(&configuration, &kernel, nullptr), cudaSuccess);
  EXPECT_EQ(cudaLaunchCooperativeKernel(&kernel, kOne, kOne, nullptr, 0, nullptr), cudaSuccess);
  EXPECT_NE(cudaLaunchKernel("no kernel", kOne, kOne, nullptr, 0, nullptr), cudaSuccess);
  void* memory = nullptr;
  int sent = 7, got = 0;
  ASSERT_EQ(cudaMalloc(&memory, sizeof(sent)), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(memory, &sent, sizeof(sent), cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(&got, memory, sizeof(got), cudaMemcpyDefault, nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(got, 7);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

}  // namespace
}  // namespace ddbg::fakes
