// The simulated devices, and which of them is the calling thread's.
#pragma once

#include <stddef.h>

#include "tests/fakes/core/errors.h"

namespace nullgpu {

int DeviceCount();
int CurrentDevice();
Error SetCurrentDevice(int device);
// The device on the machine behind a visible ordinal: the same for two processes that share a GPU.
int MachineDevice(int device);
// "0000:10:00.0" and so on; false if `text` names no visible device.
void FormatBusId(char* text, int size, int device);
bool ParseBusId(const char* text, int* device);
// 16 bytes that differ from device to device of the machine.
void DeviceUuid(int device, void* uuid);
// An attribute by CUDA's number (cudaDeviceAttr and CUdevice_attribute agree); 0 for those that no client asked for
// yet.
int DeviceAttribute(int attribute, int device);

constexpr char kDeviceName[] = "Null GPU (H100 look)";

}  // namespace nullgpu
