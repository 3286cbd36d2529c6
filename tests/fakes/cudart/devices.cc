// Devices and versions.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tests/fakes/core/device.h"
#include "tests/fakes/core/memory.h"
#include "tests/fakes/core/settings.h"
#include "tests/fakes/cudart/abi.h"

#if NULLGPU_CUDART_VERSION < 13000
#define UNTIL_12(field) field;  // fields that CUDA 13 took out
#define cudaGetDevicePropertiesCurrent cudaGetDeviceProperties_v2
#else
#define UNTIL_12(field)
#define cudaGetDevicePropertiesCurrent cudaGetDeviceProperties
#endif

namespace nullgpu {
namespace {

// cudaDeviceProp of CUDA 12.0 to 12.9, or of 13.0.
struct DeviceProperties {
  char name[256];
  char uuid[16];
  char luid[8];
  unsigned luid_mask;
  size_t total_global_mem, shared_mem_per_block;
  int regs_per_block, warp_size;
  size_t mem_pitch;
  int max_threads_per_block, max_threads_dim[3], max_grid_size[3];
  UNTIL_12(int clock_rate)
  size_t total_const_mem;
  int major, minor;
  size_t texture_alignment, texture_pitch_alignment;
  UNTIL_12(int device_overlap)
  int multiprocessor_count;
  UNTIL_12(int kernel_exec_timeout_enabled)
  int integrated, can_map_host_memory;
  UNTIL_12(int compute_mode)
  int texture_limits[39];
  UNTIL_12(int texture_1d_linear)
  size_t surface_alignment;
  int concurrent_kernels, ecc_enabled, pci_bus_id, pci_device_id, pci_domain_id, tcc_driver, async_engine_count;
  int unified_addressing;
  UNTIL_12(int memory_clock_rate)
  int memory_bus_width, l2_cache_size, persisting_l2_cache_max_size, max_threads_per_multiprocessor;
  int stream_priorities_supported, global_l1, local_l1;
  size_t shared_mem_per_multiprocessor;
  int regs_per_multiprocessor, managed_memory, is_multi_gpu_board, multi_gpu_board_group_id, host_native_atomic;
  UNTIL_12(int single_to_double)
  int pageable, concurrent_managed, compute_preemption, can_use_host_pointer, cooperative_launch;
  UNTIL_12(int cooperative_multi)
  size_t shared_mem_per_block_optin;
  int before_reserved[4];
  size_t reserved_shared_mem_per_block;
  int rest[76];
};
static_assert(sizeof(DeviceProperties) == (NULLGPU_CUDART_VERSION < 13000 ? 1032 : 1008));

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

API int cudaGetDeviceCount(int* count) {
  *count = DeviceCount();
  return Return(*count ? kSuccess : kNoDevice);
}

API int cudaGetDevice(int* device) {
  *device = CurrentDevice();
  return kSuccess;
}

API int cudaSetDevice(int device) { return Return(SetCurrentDevice(device)); }

API int cudaGetDevicePropertiesCurrent(DeviceProperties* properties, int device) {
  if (device < 0 || device >= DeviceCount()) return Return(kInvalidDevice);
  memset(properties, 0, sizeof(*properties));
  auto attribute = [device](int number) { return DeviceAttribute(number, device); };
  snprintf(properties->name, sizeof(properties->name), "%s", kDeviceName);
  DeviceUuid(device, properties->uuid);
  properties->total_global_mem = TotalMemory();
  properties->shared_mem_per_block = attribute(8);
  properties->regs_per_block = attribute(12);
  properties->warp_size = attribute(10);
  properties->mem_pitch = 2147483647;
  properties->max_threads_per_block = attribute(1);
  for (int i = 0; i < 3; ++i) properties->max_threads_dim[i] = attribute(2 + i);
  for (int i = 0; i < 3; ++i) properties->max_grid_size[i] = attribute(5 + i);
  properties->total_const_mem = 65536;
  properties->major = attribute(75);
  properties->minor = attribute(76);
  properties->texture_alignment = properties->surface_alignment = 512;
  properties->multiprocessor_count = attribute(16);
  properties->can_map_host_memory = properties->concurrent_kernels = properties->unified_addressing = 1;
  properties->pci_bus_id = attribute(33);
  properties->async_engine_count = 3;
  properties->memory_bus_width = 5120;
  properties->l2_cache_size = attribute(38);
  properties->max_threads_per_multiprocessor = attribute(39);
  properties->stream_priorities_supported = properties->managed_memory = properties->cooperative_launch = 1;
  properties->shared_mem_per_multiprocessor = attribute(81);
  properties->regs_per_multiprocessor = attribute(82);
  properties->shared_mem_per_block_optin = attribute(97);
  properties->reserved_shared_mem_per_block = 1024;
  return kSuccess;
}

API int cudaDeviceGetAttribute(int* value, int attribute, int device) {
  if (device < 0 || device >= DeviceCount()) return Return(kInvalidDevice);
  *value = DeviceAttribute(attribute, device);
  return kSuccess;
}

API int cudaDeviceGetPCIBusId(char* text, int size, int device) {
  if (device < 0 || device >= DeviceCount()) return Return(kInvalidDevice);
  FormatBusId(text, size, device);
  return kSuccess;
}

API int cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return Return(ParseBusId(text, device) ? kSuccess : kInvalidValue);
}

API int cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer;
  return kSuccess;
}

API int cudaDeviceEnablePeerAccess(int, unsigned) { return kSuccess; }

API int cudaDeviceDisablePeerAccess(int) { return kSuccess; }

API int cudaDeviceReset() { return kSuccess; }

API int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return kSuccess;
}

API int cudaSetDeviceFlags(unsigned) { return kSuccess; }

API int cudaDriverGetVersion(int* version) {
  *version = GetSettings().driver_version;
  return kSuccess;
}

API int cudaRuntimeGetVersion(int* version) {
  *version = NULLGPU_CUDART_VERSION;
  return kSuccess;
}

API int cudaProfilerStart() { return kSuccess; }

API int cudaProfilerStop() { return kSuccess; }

API int cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version, unsigned long long flags,
                                         int* status) {
  using GetProcAddress = int (*)(const char*, void**, int, uint64_t, int*);
  *function = nullptr;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  auto get = driver ? reinterpret_cast<GetProcAddress>(dlsym(driver, "cuGetProcAddress_v2")) : nullptr;
  if (!get) return Return(kNotFound);
  int found = 1;
  get(name, function, static_cast<int>(version), flags, &found);
  if (status) *status = found;
  return kSuccess;  // a name that the driver has not is a status, no error
}

API int cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags, int* status) {
  return cudaGetDriverEntryPointByVersion(name, function, NULLGPU_CUDART_VERSION, flags, status);
}
