// Gloo as it lies in memory: offsets into its objects of options, and what of them is trusted. The headers of 2022-05,
// 2023-12 and 2025-09 agree; tests/conformance/gloo_abi.cc compares with those that are installed. A library that
// differs is found out call by call: an object whose context is not a known one, or whose buffers do not hold whole
// elements, gives its name and its time only.
#pragma once

#include <cstdint>

#include "proto/call.h"

namespace ddbg::shim::gloo {

// Byte offsets into …Options; 0: it has none (there lies the context).
struct OptionsLayout {
  uint16_t in = 0, out = 0;  // UnboundBuffer*
  uint16_t elements = 0;     // size_t
  uint16_t element_bytes = 0;
  uint16_t root = 0;     // int
  uint16_t reduce = 0;   // std::function
  uint16_t tag = 0;      // uint32_t
  bool in_many = false;  // `in` and `out` begin vectors of UnboundBuffer*
  bool out_many = false;
};

constexpr OptionsLayout LayoutOf(GlooCall call) {
  switch (call) {
    case GlooCall::allreduce:
      return {.in = 32,
              .out = 56,
              .elements = 80,
              .element_bytes = 88,
              .reduce = 96,
              .tag = 128,
              .in_many = true,
              .out_many = true};
    case GlooCall::reduce:
      return {.in = 16, .out = 24, .elements = 32, .element_bytes = 40, .root = 48, .reduce = 56, .tag = 88};
    case GlooCall::broadcast: return {.in = 16, .out = 24, .elements = 32, .element_bytes = 40, .root = 48, .tag = 52};
    case GlooCall::allgather:
    case GlooCall::alltoall: return {.in = 16, .out = 24, .element_bytes = 32, .tag = 40};
    case GlooCall::allgatherv: return {.in = 16, .out = 24, .element_bytes = 56, .tag = 64};
    case GlooCall::alltoallv: return {.in = 16, .out = 24, .element_bytes = 128, .tag = 136};
    case GlooCall::gather: return {.in = 16, .out = 24, .element_bytes = 32, .root = 40, .tag = 44};
    case GlooCall::scatter: return {.in = 16, .out = 40, .element_bytes = 48, .root = 56, .tag = 60, .in_many = true};
    case GlooCall::barrier: return {.tag = 24};
    default: return {};
  }
}

// transport::UnboundBuffer: a vtable, then these.
inline constexpr uint16_t kBufferPointer = 8, kBufferBytes = 16;
// std::function of libstdc++ 5 and later: what it holds, its manager, its invoker.
inline constexpr uint16_t kFunctionManager = 16, kFunctionInvoker = 24;

template <class T>
T Read(const void* object, uint16_t offset) {
  return *reinterpret_cast<const T*>(static_cast<const char*>(object) + offset);
}

// std::string of libstdc++'s C++11 ABI, read by who must not link it.
struct HostString {
  const char* data;
  uint64_t bytes;
};

}  // namespace ddbg::shim::gloo
