// Functions that clients import and that the double has nothing behind: each fails with CUDA_ERROR_NOT_SUPPORTED.
#include "tests/fakes/cuda/abi.h"

#define UNSUPPORTED(name) \
  API int name() { return nullgpu::kNotSupported; }

UNSUPPORTED(cuLinkAddData_v2)
UNSUPPORTED(cuLinkComplete)
UNSUPPORTED(cuLinkCreate_v2)
UNSUPPORTED(cuLinkDestroy)
UNSUPPORTED(cuMemAddressReserve)
UNSUPPORTED(cuMemCreate)
UNSUPPORTED(cuMemMap)
UNSUPPORTED(cuTensorMapEncodeTiled)
