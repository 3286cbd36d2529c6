// The CUDA runtime and driver of this process: their loaded copies, and the few functions ddbg itself calls. Those only
// ask, make no context and wait for nothing.
#pragma once

#include <cstdint>

#include "shim/interpose/library_copies.h"

namespace ddbg::shim::cuda {

extern LibraryCopies g_copies;  // of libcudart; functions by CudaCall

// Ordinal of the calling thread's device; -1: neither runtime nor driver says.
int32_t CurrentDevice() noexcept;

inline constexpr int kBusIdBytes = 16;
// "0000:3b:00.0" into `bus_id`; false: nobody says.
bool BusIdOf(int32_t device, char (&bus_id)[kBusIdBytes]) noexcept;

}  // namespace ddbg::shim::cuda
