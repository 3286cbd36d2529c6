// Functions that clients import and that the double has nothing behind: each fails with cudaErrorNotSupported.
#include "tests/fakes/cudart/abi.h"

#define UNSUPPORTED(name) \
  API int name() { return nullgpu::Return(nullgpu::kNotSupported); }

UNSUPPORTED(cudaGraphAddDependencies)
UNSUPPORTED(cudaGraphAddKernelNode)
UNSUPPORTED(cudaGraphDebugDotPrint)
UNSUPPORTED(cudaGraphExecUpdate)
UNSUPPORTED(cudaIpcCloseMemHandle)
UNSUPPORTED(cudaIpcGetEventHandle)
UNSUPPORTED(cudaIpcGetMemHandle)
UNSUPPORTED(cudaIpcOpenEventHandle)
UNSUPPORTED(cudaIpcOpenMemHandle)
UNSUPPORTED(cudaMallocArray)
UNSUPPORTED(cudaMallocFromPoolAsync)
UNSUPPORTED(cudaMemPoolCreate)
UNSUPPORTED(cudaMemPoolDestroy)
UNSUPPORTED(cudaMemPrefetchAsync)
UNSUPPORTED(cudaMemAdvise)
UNSUPPORTED(cudaStreamAttachMemAsync)
UNSUPPORTED(cudaStreamUpdateCaptureDependencies)
