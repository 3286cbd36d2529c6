#include "tests/fakes/core/device.h"

#include <stdio.h>
#include <string.h>

#include "tests/fakes/core/settings.h"

namespace nullgpu {
namespace {

thread_local int current_device = 0;

constexpr int kFirstBus = 16;

}  // namespace

int DeviceCount() { return static_cast<int>(GetSettings().devices.size()); }

int CurrentDevice() { return current_device; }

Error SetCurrentDevice(int device) {
  if (device < 0 || device >= DeviceCount()) return kInvalidDevice;
  current_device = device;
  return kSuccess;
}

int MachineDevice(int device) { return GetSettings().devices.at(device); }

void FormatBusId(char* text, int size, int device) {
  snprintf(text, size, "0000:%02x:00.0", kFirstBus + MachineDevice(device));
}

bool ParseBusId(const char* text, int* device) {
  unsigned domain, bus;
  if (sscanf(text, "%x:%x", &domain, &bus) != 2) return false;
  for (int i = 0; i < DeviceCount(); ++i) {
    if (kFirstBus + MachineDevice(i) == static_cast<int>(bus)) {
      *device = i;
      return true;
    }
  }
  return false;
}

void DeviceUuid(int device, void* uuid) {
  memset(uuid, 0, 16);
  static_cast<unsigned char*>(uuid)[15] = static_cast<unsigned char>(MachineDevice(device) + 1);
}

int DeviceAttribute(int attribute, int device) {
  switch (attribute) {
    case 1:
    case 2:
    case 3: return 1024;        // threads of a block, block x and y
    case 4: return 64;          // block z
    case 5: return 2147483647;  // grid x
    case 6:
    case 7: return 65535;     // grid y and z
    case 8: return 49152;     // shared memory of a block
    case 10: return 32;       // warp
    case 12: return 65536;    // registers of a block
    case 13: return 1980000;  // clock, kHz
    case 16: return 132;      // multiprocessors
    case 31:
    case 41:
    case 78:
    case 95: return 1;  // concurrent kernels, unified addresses, priorities, cooperative
    case 33: return kFirstBus + MachineDevice(device);
    case 38: return 52428800;  // L2
    case 39: return 2048;      // threads of a multiprocessor
    case 75: return 9;         // compute capability
    case 81: return 233472;    // shared memory of a multiprocessor
    case 82: return 65536;     // registers of a multiprocessor
    case 97: return 232448;    // shared memory of a block, opted in
    default: return 0;
  }
}

}  // namespace nullgpu
