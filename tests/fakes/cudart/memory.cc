// Allocation, copies and fills.
#include "tests/fakes/core/memory.h"

#include <string.h>

#include "tests/fakes/core/capture.h"
#include "tests/fakes/core/copies.h"
#include "tests/fakes/core/device.h"
#include "tests/fakes/core/settings.h"
#include "tests/fakes/cudart/abi.h"

namespace nullgpu {
namespace {

// Capture forbids these calls, since a real one may have to wait for the device.
int AllocateOn(void** pointer, size_t bytes, MemoryKind kind) {
  if (!pointer) return Return(kInvalidValue);
  if (Error error = CheckUnsafeCall()) return Return(error);
  *pointer = bytes ? Allocate(CurrentDevice(), bytes, kind) : nullptr;
  Trace("cudaMalloc %zu -> %p", bytes, *pointer);
  return Return(*pointer || !bytes ? kSuccess : kOutOfMemory);
}

int CopyOn(const char* call, Handle stream, bool per_thread, const Copy& copy, bool wait) {
  return WithStream(stream, per_thread, [&](Stream& found) { return EnqueueCopy(call, found, copy, wait); });
}

int FillOn(const char* call, Handle stream, bool per_thread, void* to, int value, size_t count, bool wait) {
  return WithStream(stream, per_thread, [&](Stream& found) {
    return EnqueueFill(call, found, to, static_cast<unsigned>(value), count, 1, wait);
  });
}

// cudaPointerAttributes
struct PointerAttributes {
  int type, device;
  void *device_pointer, *host_pointer;
};

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

API int cudaMalloc(void** pointer, size_t bytes) { return AllocateOn(pointer, bytes, MemoryKind::kDevice); }

API int cudaMallocManaged(void** pointer, size_t bytes, unsigned) {
  return AllocateOn(pointer, bytes, MemoryKind::kManaged);
}

API int cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 511) & ~size_t{511};
  return AllocateOn(pointer, *pitch * height, MemoryKind::kDevice);
}

// A hung stream makes this hang, as on a GPU.
API int cudaFree(void* pointer) {
  if (Error error = CheckUnsafeCall()) return Return(error);
  if (pointer) WaitForDevice(CurrentDevice());
  return Return(Free(pointer));
}

// Memory of the stream's order: here it is there at once, in a capture as well.
BOTH(cudaMallocAsync, _ptsz, (void** pointer, size_t bytes, Handle),
     *pointer = Allocate(CurrentDevice(), bytes, MemoryKind::kDevice);
     return Return(*pointer ? kSuccess : kOutOfMemory);)

// In a graph it frees nothing: the graph's next launch uses the memory again.
BOTH(cudaFreeAsync, _ptsz, (void* pointer, Handle stream),
     return WithStream(stream, per_thread, [pointer](Stream& found) {
       bool captured = StatusOfCapture(found, nullptr, nullptr) != CaptureStatus::kNone;
       return EnqueueWork(found, "free", [=] {
         if (!captured) Free(pointer);
       });
     });)

API int cudaMallocHost(void** pointer, size_t bytes) {
  if (Error error = CheckUnsafeCall()) return Return(error);
  *pointer = AllocateHost(bytes);
  return Return(*pointer ? kSuccess : kOutOfMemory);
}

API int cudaHostAlloc(void** pointer, size_t bytes, unsigned) { return cudaMallocHost(pointer, bytes); }

API int cudaFreeHost(void* pointer) {
  if (Error error = CheckUnsafeCall()) return Return(error);
  if (pointer) WaitForDevice(CurrentDevice());
  return Return(FreeHost(pointer));
}

API int cudaHostRegister(void* pointer, size_t bytes, unsigned) { return Return(RegisterHost(pointer, bytes)); }

API int cudaHostUnregister(void* pointer) { return Return(UnregisterHost(pointer)); }

API int cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return kSuccess;
}

API int cudaHostGetFlags(unsigned* flags, void*) {
  *flags = 0;
  return kSuccess;
}

API int cudaMemGetInfo(size_t* free, size_t* total) {
  *free = FreeMemory(CurrentDevice());
  *total = TotalMemory();
  return kSuccess;
}

API int cudaPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
  MemoryBlock block = FindBlock(pointer);
  bool known = block.kind != MemoryKind::kUnregistered;
  void* address = const_cast<void*>(pointer);
  attributes->type = static_cast<int>(block.kind);
  attributes->device = known ? block.device : -2;
  attributes->device_pointer = known ? address : nullptr;
  attributes->host_pointer = block.kind == MemoryKind::kDevice ? nullptr : address;
  return kSuccess;
}

BOTH(cudaMemcpy, _ptds, (void* to, const void* from, size_t bytes, int),
     return CopyOn(__func__, nullptr, per_thread, {to, from, bytes}, true);)

BOTH(cudaMemcpyAsync, _ptsz, (void* to, const void* from, size_t bytes, int, Handle stream),
     return CopyOn(__func__, stream, per_thread, {to, from, bytes}, false);)

API int cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  return CopyOn(__func__, nullptr, false, {to, from, bytes}, true);
}

API int cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, Handle stream) {
  return CopyOn(__func__, stream, false, {to, from, bytes}, false);
}

BOTH(cudaMemcpy2D, _ptds,
     (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, int),
     return CopyOn(__func__, nullptr, per_thread, {to, from, width, height, to_pitch, from_pitch}, true);)

BOTH(cudaMemcpy2DAsync, _ptsz,
     (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, int, Handle stream),
     return CopyOn(__func__, stream, per_thread, {to, from, width, height, to_pitch, from_pitch}, false);)

BOTH(cudaMemset, _ptds, (void* to, int value, size_t count),
     return FillOn(__func__, nullptr, per_thread, to, value, count, true);)

BOTH(cudaMemsetAsync, _ptsz, (void* to, int value, size_t count, Handle stream),
     return FillOn(__func__, stream, per_thread, to, value, count, false);)

API int cudaDeviceGetDefaultMemPool(Handle* pool, int) {
  *pool = reinterpret_cast<Handle>(0x1000);
  return kSuccess;
}

API int cudaMemPoolGetAttribute(Handle, int, void* value) {
  memset(value, 0, sizeof(uint64_t));
  return kSuccess;
}

API int cudaMemPoolSetAttribute(Handle, int, void*) { return kSuccess; }

API int cudaMemPoolSetAccess(Handle, const void*, size_t) { return kSuccess; }

API int cudaMemPoolTrimTo(Handle, size_t) { return kSuccess; }
