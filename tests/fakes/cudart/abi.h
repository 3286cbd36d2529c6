// CUDA runtime ABI, declared by hand: no header of NVIDIA's is included. The sources of this folder are built once for
// each of libcudart.so.12 and libcudart.so.13, with NULLGPU_CUDART_VERSION 12040 or 13000.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <utility>

#include "tests/fakes/core/errors.h"
#include "tests/fakes/core/stream.h"

#define API extern "C" __attribute__((visibility("default")))

// Defines a function that exists for the legacy default stream and, with a suffix (_ptsz for those that take a stream,
// _ptds for those that do not), for the per-thread one. The body knows `per_thread`.
#define BOTH(name, suffix, parameters, ...)             \
  API int name parameters {                             \
    [[maybe_unused]] constexpr bool per_thread = false; \
    __VA_ARGS__                                         \
  }                                                     \
  API int name##suffix parameters {                     \
    [[maybe_unused]] constexpr bool per_thread = true;  \
    __VA_ARGS__                                         \
  }

namespace nullgpu {

using Handle = void*;  // cudaStream_t, cudaEvent_t, cudaGraph_t, …

struct Dim3 {
  unsigned x, y, z;
};

// Keeps an error for cudaGetLastError and returns it.
int Return(int error);

// Does something with the stream behind a handle.
template <class Do>
int WithStream(Handle handle, bool per_thread, Do&& action) {
  auto stream = FindStream(handle, per_thread);
  return Return(stream ? static_cast<int>(std::forward<Do>(action)(*stream)) : kInvalidHandle);
}

}  // namespace nullgpu
