// CUDA driver ABI, declared by hand: no header of NVIDIA's is included.
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

using Handle = void*;  // CUstream, CUevent, CUcontext, …

template <class Do>
int WithStream(Handle handle, bool per_thread, Do&& action) {
  auto stream = FindStream(handle, per_thread);
  return stream ? static_cast<int>(std::forward<Do>(action)(*stream)) : kInvalidHandle;
}

}  // namespace nullgpu
