// The driver as a static cudart finds it: dlopen("libcuda.so.1"), one dlsym("cuGetProcAddress_v2"), and everything else
// by base name and version through that.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace nullgpu::static_runtime {

using Handle = void*;

struct LaunchConfiguration {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  Handle stream;
  void* attributes;
  unsigned attribute_count;
};

// The functions for one kind of default stream.
struct StreamCalls {
  int (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, void**);
  int (*launch_ex)(const LaunchConfiguration*, Handle, void**, void**);
  int (*launch_cooperative)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle,
                            void**);
  int (*graph_launch)(Handle, Handle);
  int (*synchronize)(Handle);
  int (*copy)(void*, const void*, size_t);
  int (*copy_async)(void*, const void*, size_t, Handle);
};

struct Driver {
  // null where the driver has none, or is too old
  int (*init)(unsigned);
  int (*get_proc_address_v1)(const char*, void**, int, uint64_t);
  int (*device_count)(int*);
  int (*retain_context)(Handle*, int);
  int (*set_context)(Handle);
  int (*synchronize)();
  int (*event_synchronize)(Handle);
  int (*allocate)(void**, size_t);
  int (*free)(void*);
  int (*load_library)(Handle*, const void*, void*, void*, unsigned, void*, void*, unsigned);
  int (*get_kernel)(Handle*, Handle, const char*);
  StreamCalls legacy, per_thread;
};

// Null if there is no driver.
const Driver* GetDriver();

}  // namespace nullgpu::static_runtime
