// Memory of the simulated devices: host memory that is accounted to a device, found again by address. All thread-safe.
#pragma once

#include <stddef.h>

#include "tests/fakes/core/errors.h"

namespace nullgpu {

enum class MemoryKind { kUnregistered = 0, kHost = 1, kDevice = 2, kManaged = 3 };  // as cudaMemoryType

struct MemoryBlock {
  MemoryKind kind = MemoryKind::kUnregistered;
  int device = 0;
  void* base = nullptr;
  size_t size = 0;
};

// Page-aligned and zeroed; null if the device has not that much left.
void* Allocate(int device, size_t bytes, MemoryKind kind);
// Null is freed with success; anything that Allocate() did not give is kInvalidValue.
Error Free(void* pointer);
void* AllocateHost(size_t bytes);
Error FreeHost(void* pointer);
Error RegisterHost(void* pointer, size_t bytes);
Error UnregisterHost(void* pointer);

// The block that holds an address; of kind kUnregistered if none does.
MemoryBlock FindBlock(const void* pointer);

size_t FreeMemory(int device);
size_t TotalMemory();

}  // namespace nullgpu
