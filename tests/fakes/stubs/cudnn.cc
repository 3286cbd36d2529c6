// What PyTorch asks cuDNN for without running a convolution; the rest are generated stubs, which fail.
#include <stddef.h>

#define API extern "C" __attribute__((visibility("default")))

API size_t cudnnGetVersion() { return 90100; }

API int cudnnGetProperty(int which, int* value) {
  *value = which == 0 ? 9 : which == 1 ? 1 : 0;
  return 0;
}

API size_t cudnnGetCudartVersion() { return 12040; }
