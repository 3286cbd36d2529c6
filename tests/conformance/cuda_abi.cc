// Compiles only if proto/calls_cuda.def, proto/calls_cuda_driver.def and shim/cuda/abi.h agree with the CUDA headers it
// is compiled against.
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include "shim/cuda/abi.h"
#include "tests/conformance/row_check.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace ddbg::shim::cuda;

namespace ddbg::conformance {

template <class P>
constexpr bool Suits(Role role) {
  switch (role) {
    case Role::Stream: return kIs<P, cudaStream_t>;
    case Role::NewStream: return kIs<P, cudaStream_t*>;
    case Role::Event: return kIs<P, cudaEvent_t>;
    case Role::NewEvent: return kIs<P, cudaEvent_t*>;
    case Role::Bytes: return kIs<P, size_t, cudaExtent>;
    case Role::Width:
    case Role::Height: return kIs<P, size_t>;
    case Role::CopyKind: return kIs<P, cudaMemcpyKind>;
    case Role::Copy3D: return kIs<P, const cudaMemcpy3DParms*>;
    case Role::PeerCopy3D: return kIs<P, const cudaMemcpy3DPeerParms*>;
    case Role::DriverCopy2D: return kIs<P, const CUDA_MEMCPY2D*>;
    case Role::DriverCopy3D: return kIs<P, const CUDA_MEMCPY3D*, const CUDA_MEMCPY3D_PEER*>;
    case Role::Pointer: return kIs<P, void*, cudaArray_t, CUdeviceptr>;
    case Role::NewPointer: return kIs<P, void**, cudaArray_t*, cudaPitchedPtr*, CUdeviceptr*>;
    case Role::Function: return kIs<P, const void*>;
    case Role::Kernel: return kIs<P, cudaKernel_t, CUfunction>;
    case Role::LaunchConfig: return kIs<P, const cudaLaunchConfig_t*, const CUlaunchConfig*>;
    case Role::GridXY:
    case Role::BlockXY: return kIs<P, dim3>;
    case Role::GridZ:
    case Role::BlockZ: return kIs<P, dim3, unsigned>;
    case Role::GridX:
    case Role::GridY:
    case Role::BlockX:
    case Role::BlockY: return kIs<P, unsigned>;
    case Role::Graph: return kIs<P, cudaGraph_t, cudaGraphExec_t>;
    case Role::NewGraph: return kIs<P, cudaGraph_t*, cudaGraphExec_t*>;
    case Role::Device:
    case Role::DestDevice:
    case Role::SourceDevice:
    case Role::Priority: return kIs<P, int>;
    case Role::StreamFlags: return kIs<P, unsigned>;
    case Role::CaptureMode: return kIs<P, cudaStreamCaptureMode>;
    default: return false;
  }
}

}  // namespace ddbg::conformance

// Declared by crt/host_runtime.h, for code of nvcc only.
extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                          size_t shared_bytes, cudaStream_t stream);
// Its row has the five arguments it had before CUDA 12, all in registers.
cudaError_t FiveArguments(cudaGraphExec_t*, cudaGraph_t, unsigned long long, void*, size_t);
static_assert(ddbg::conformance::Prototype<decltype(&cudaGraphInstantiate)>::kCount == 3);
#define cudaGraphInstantiate FiveArguments

#define DDBG_CUDA(name, suffix, kind, shape, ...) DDBG_CHECK_ROW(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda.def"
#undef DDBG_CUDA

// Its row passes one word on, as cuCtxSynchronize_v2's.
CUresult OneArgument(CUcontext);
static_assert(ddbg::conformance::Prototype<decltype(&cuCtxSynchronize)>::kCount == 0);
#undef cuCtxSynchronize
#define cuCtxSynchronize OneArgument
#define DDBG_CU(name, suffix, lookup, since, until, kind, shape, ...) DDBG_CHECK_ROW(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
#undef cuCtxSynchronize

// Is it the function that a look-up gives from this version of CUDA on?
#define DDBG_CU(name, suffix, lookup, since, ...) \
  static_assert(std::is_same_v<decltype(&name), PFN_##lookup##_v##since>, #name " of another version");
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
static_assert(std::is_same_v<decltype(&cuGetProcAddress_v2), PFN_cuGetProcAddress_v12000>);
static_assert(CUDA_VERSION >= kNewest, "the newest version known here is not this header's");

#define SAME(ours, theirs) static_assert(static_cast<long>(ours) == static_cast<long>(theirs))

SAME(kSuccess, cudaSuccess);
SAME(kInvalidValue, cudaErrorInvalidValue);
SAME(kSymbolNotFound, cudaErrorSharedObjectSymbolNotFound);
SAME(kSymbolNotFound, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
SAME(kInvalidHandle, cudaErrorInvalidResourceHandle);
SAME(kNotReady, cudaErrorNotReady);
SAME(kCaptureWrongThread, cudaErrorStreamCaptureWrongThread);
SAME(kCaptureNone, cudaStreamCaptureStatusNone);
SAME(kHostToDevice, cudaMemcpyHostToDevice);
SAME(kDeviceToHost, cudaMemcpyDeviceToHost);
SAME(kDeviceToDevice, cudaMemcpyDeviceToDevice);
SAME(kDefaultKind, cudaMemcpyDefault);
SAME(kLegacyStream, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
SAME(kPerThreadStream, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
SAME(sizeof(dim3), 12);
SAME(sizeof(Extent), sizeof(cudaExtent));
SAME(offsetof(Extent, depth), offsetof(cudaExtent, depth));
SAME(sizeof(PitchedPointer), sizeof(cudaPitchedPtr));
SAME(offsetof(PitchedPointer, height), offsetof(cudaPitchedPtr, ysize));
SAME(kCopy3DExtent, offsetof(cudaMemcpy3DParms, extent));
SAME(kCopy3DKind, offsetof(cudaMemcpy3DParms, kind));
SAME(kPeerCopy3DExtent, offsetof(cudaMemcpy3DPeerParms, extent));
SAME(kPeerCopy3DSourceDevice, offsetof(cudaMemcpy3DPeerParms, srcDevice));
SAME(kPeerCopy3DDestDevice, offsetof(cudaMemcpy3DPeerParms, dstDevice));
SAME(kDriverCopy2DWidth, offsetof(CUDA_MEMCPY2D, WidthInBytes));
SAME(kDriverCopy2DWidth + 8, offsetof(CUDA_MEMCPY2D, Height));
SAME(kDriverCopy3DWidth, offsetof(CUDA_MEMCPY3D, WidthInBytes));
SAME(kDriverCopy3DWidth + 16, offsetof(CUDA_MEMCPY3D, Depth));
SAME(kDriverCopy3DWidth, offsetof(CUDA_MEMCPY3D_PEER, WidthInBytes));
SAME(kDriverCopy3DWidth + 16, offsetof(CUDA_MEMCPY3D_PEER, Depth));
SAME(offsetof(LaunchConfig, grid), offsetof(cudaLaunchConfig_t, gridDim));
SAME(offsetof(LaunchConfig, block), offsetof(cudaLaunchConfig_t, blockDim));
SAME(offsetof(LaunchConfig, stream), offsetof(cudaLaunchConfig_t, stream));
SAME(offsetof(LaunchConfig, grid), offsetof(CUlaunchConfig, gridDimX));
SAME(offsetof(LaunchConfig, block), offsetof(CUlaunchConfig, blockDimX));
SAME(offsetof(LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));

int main() {
  return reinterpret_cast<uint64_t>(cudaStreamLegacy) != kStreamLegacy ||
         reinterpret_cast<uint64_t>(cudaStreamPerThread) != kStreamPerThread;
}
