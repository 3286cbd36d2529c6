// Memory, copies and fills.
#include "tests/fakes/core/memory.h"

#include "tests/fakes/core/capture.h"
#include "tests/fakes/core/copies.h"
#include "tests/fakes/core/device.h"
#include "tests/fakes/cuda/abi.h"

namespace nullgpu {
namespace {

int CopyOn(const char* call, Handle stream, bool per_thread, void* to, const void* from, size_t bytes, bool wait) {
  return WithStream(stream, per_thread, [&](Stream& found) {
    return EnqueueCopy(call, found, {to, from, bytes}, wait);
  });
}

int FillOn(const char* call, Handle stream, bool per_thread, void* to, unsigned value, size_t count, int bytes,
           bool wait) {
  return WithStream(stream, per_thread,
                    [&](Stream& found) { return EnqueueFill(call, found, to, value, count, bytes, wait); });
}

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

API int cuMemAlloc_v2(void** pointer, size_t bytes) {
  if (!pointer || !bytes) return kInvalidValue;
  if (Error error = CheckUnsafeCall()) return error;
  *pointer = Allocate(CurrentDevice(), bytes, MemoryKind::kDevice);
  return *pointer ? kSuccess : kOutOfMemory;
}

API int cuMemFree_v2(void* pointer) {
  if (Error error = CheckUnsafeCall()) return error;
  if (pointer) WaitForDevice(CurrentDevice());
  return Free(pointer);
}

API int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = FreeMemory(CurrentDevice());
  *total = TotalMemory();
  return kSuccess;
}

API int cuMemAllocHost_v2(void** pointer, size_t bytes) {
  *pointer = AllocateHost(bytes);
  return *pointer ? kSuccess : kOutOfMemory;
}

API int cuMemFreeHost(void* pointer) { return FreeHost(pointer); }

BOTH(cuMemcpy, _ptds, (void* to, const void* from, size_t bytes),
     return CopyOn(__func__, nullptr, per_thread, to, from, bytes, true);)

BOTH(cuMemcpyHtoD_v2, _ptds, (void* to, const void* from, size_t bytes),
     return CopyOn(__func__, nullptr, per_thread, to, from, bytes, true);)

BOTH(cuMemcpyDtoH_v2, _ptds, (void* to, const void* from, size_t bytes),
     return CopyOn(__func__, nullptr, per_thread, to, from, bytes, true);)

BOTH(cuMemcpyDtoD_v2, _ptds, (void* to, const void* from, size_t bytes),
     return CopyOn(__func__, nullptr, per_thread, to, from, bytes, true);)

BOTH(cuMemcpyAsync, _ptsz, (void* to, const void* from, size_t bytes, Handle stream),
     return CopyOn(__func__, stream, per_thread, to, from, bytes, false);)

BOTH(cuMemcpyHtoDAsync_v2, _ptsz, (void* to, const void* from, size_t bytes, Handle stream),
     return CopyOn(__func__, stream, per_thread, to, from, bytes, false);)

BOTH(cuMemcpyDtoHAsync_v2, _ptsz, (void* to, const void* from, size_t bytes, Handle stream),
     return CopyOn(__func__, stream, per_thread, to, from, bytes, false);)

BOTH(cuMemcpyDtoDAsync_v2, _ptsz, (void* to, const void* from, size_t bytes, Handle stream),
     return CopyOn(__func__, stream, per_thread, to, from, bytes, false);)

BOTH(cuMemsetD8_v2, _ptds, (void* to, unsigned char value, size_t count),
     return FillOn(__func__, nullptr, per_thread, to, value, count, 1, true);)

BOTH(cuMemsetD32_v2, _ptds, (void* to, unsigned value, size_t count),
     return FillOn(__func__, nullptr, per_thread, to, value, count, 4, true);)

BOTH(cuMemsetD8Async, _ptsz, (void* to, unsigned char value, size_t count, Handle stream),
     return FillOn(__func__, stream, per_thread, to, value, count, 1, false);)

BOTH(cuMemsetD32Async, _ptsz, (void* to, unsigned value, size_t count, Handle stream),
     return FillOn(__func__, stream, per_thread, to, value, count, 4, false);)

API int cuPointerGetAttribute(void* value, int attribute, void* pointer) {
  constexpr int kMemoryType = 2, kDeviceOrdinal = 9;
  MemoryBlock block = FindBlock(pointer);
  if (block.kind == MemoryKind::kUnregistered) return kInvalidValue;
  if (attribute == kMemoryType) {
    *static_cast<int*>(value) = block.kind == MemoryKind::kHost ? 1 : 2;
  } else if (attribute == kDeviceOrdinal) {
    *static_cast<int*>(value) = block.device;
  } else {
    return kInvalidValue;
  }
  return kSuccess;
}
