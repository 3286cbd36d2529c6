// Devices, contexts (a device has one, its primary), errors and versions.
#include <stdio.h>
#include <string.h>

#include "tests/fakes/core/device.h"
#include "tests/fakes/core/memory.h"
#include "tests/fakes/core/settings.h"
#include "tests/fakes/cuda/abi.h"

namespace nullgpu {
namespace {

struct Context {
  int device;
};

Context* ContextOf(int device) {
  static Context contexts[kMaxDevices];
  contexts[device].device = device;
  return &contexts[device];
}

bool IsDevice(int device) { return device >= 0 && device < DeviceCount(); }

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

API int cuInit(unsigned) { return DeviceCount() ? kSuccess : kNoDevice; }

API int cuDriverGetVersion(int* version) {
  *version = GetSettings().driver_version;
  return kSuccess;
}

API int cuDeviceGetCount(int* count) {
  *count = DeviceCount();
  return kSuccess;
}

API int cuDeviceGet(int* device, int ordinal) {
  if (!IsDevice(ordinal)) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

API int cuDeviceGetName(char* name, int size, int) {
  snprintf(name, size, "%s", kDeviceName);
  return kSuccess;
}

API int cuDeviceGetUuid(void* uuid, int device) {
  if (!IsDevice(device)) return kInvalidDevice;
  DeviceUuid(device, uuid);
  return kSuccess;
}

API int cuDeviceGetUuid_v2(void* uuid, int device) { return cuDeviceGetUuid(uuid, device); }

API int cuDeviceGetPCIBusId(char* text, int size, int device) {
  if (!IsDevice(device)) return kInvalidDevice;
  FormatBusId(text, size, device);
  return kSuccess;
}

API int cuDeviceGetByPCIBusId(int* device, const char* text) {
  return ParseBusId(text, device) ? kSuccess : kInvalidValue;
}

API int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = TotalMemory();
  return kSuccess;
}

API int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (!IsDevice(device)) return kInvalidDevice;
  *value = DeviceAttribute(attribute, device);
  return kSuccess;
}

API int cuDeviceComputeCapability(int* major, int* minor, int device) {
  *major = DeviceAttribute(75, device);
  *minor = DeviceAttribute(76, device);
  return kSuccess;
}

API int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return kSuccess;
}

API int cuDevicePrimaryCtxRetain(Handle* context, int device) {
  if (!IsDevice(device)) return kInvalidDevice;
  *context = ContextOf(device);
  return kSuccess;
}

API int cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }

API int cuDevicePrimaryCtxSetFlags_v2(int, unsigned) { return kSuccess; }

API int cuDevicePrimaryCtxReset_v2(int) { return kSuccess; }

API int cuCtxCreate_v2(Handle* context, unsigned, int device) { return cuDevicePrimaryCtxRetain(context, device); }

API int cuCtxDestroy_v2(Handle) { return kSuccess; }

API int cuCtxGetCurrent(Handle* context) {
  *context = ContextOf(CurrentDevice());
  return kSuccess;
}

API int cuCtxSetCurrent(Handle context) {
  return context ? SetCurrentDevice(static_cast<Context*>(context)->device) : kSuccess;
}

API int cuCtxPushCurrent_v2(Handle context) { return cuCtxSetCurrent(context); }

API int cuCtxPopCurrent_v2(Handle* context) { return cuCtxGetCurrent(context); }

API int cuCtxGetDevice(int* device) {
  *device = CurrentDevice();
  return kSuccess;
}

API int cuCtxGetApiVersion(Handle, unsigned* version) {
  *version = 3020;
  return kSuccess;
}

API int cuCtxSynchronize() {
  Trace("cuCtxSynchronize");
  return SynchronizeDevice(CurrentDevice());
}

API int cuGetErrorString(int error, const char** text) {
  *text = error ? "error of the simulated driver" : "no error";
  return kSuccess;
}

API int cuGetErrorName(int error, const char** text) {
  *text = error ? "CUDA_ERROR_SIMULATED" : "CUDA_SUCCESS";
  return kSuccess;
}

// The private tables by which NVIDIA's own libraries know their driver are not simulated: a real cudart does not start
// on it.
API int cuGetExportTable(const void** table, const void*) {
  *table = nullptr;
  return kNotFound;
}
