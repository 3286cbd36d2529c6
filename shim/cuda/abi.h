// What ddbg knows of CUDA's binary interface, declared by itself so that libddbg.so builds without CUDA and serves its
// versions 12 and 13. Facts of cuda_runtime_api.h and cuda.h 13.0 (nccl-cuda.md B8); tests/conformance/cuda_abi.cc
// compares them with the headers that are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ddbg::shim::cuda {

// cudaError_t and CUresult agree in these.
enum Result : int32_t {
  kSuccess = 0,
  kInvalidValue = 1,
  kSymbolNotFound = 302,  // cudaErrorSharedObjectSymbolNotFound
  kInvalidHandle = 400,
  kNotReady = 600,  // of a query: no error
  kCaptureWrongThread = 908,
};

// cudaStream_t of the default streams. 0 is the legacy one, or the thread's own in calls by a _ptsz or _ptds name.
inline constexpr uint64_t kStreamLegacy = 1, kStreamPerThread = 2;

// cudaLaunchConfig_t and, up to `stream`, CUlaunchConfig.
struct LaunchConfig {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  uint32_t more_shared_bytes;  // upper half of a size_t; padding in the driver's
  uint64_t stream;
};

// cudaExtent and cudaPitchedPtr.
struct Extent {
  size_t width, height, depth;
};
struct PitchedPointer {
  void* address;
  size_t pitch, width, height;
};

// Offsets of three sizes: of the box that a copy is of.
inline constexpr size_t kCopy3DExtent = 128;           // cudaMemcpy3DParms
inline constexpr size_t kPeerCopy3DExtent = 144;       // cudaMemcpy3DPeerParms
inline constexpr size_t kPeerCopy3DSourceDevice = 64;  // int
inline constexpr size_t kPeerCopy3DDestDevice = 136;
inline constexpr size_t kDriverCopy2DWidth = 112;  // CUDA_MEMCPY2D: width and height
inline constexpr size_t kDriverCopy3DWidth = 176;  // CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER
inline constexpr size_t kCopy3DKind = 152;

// cudaMemcpyKind
enum CopyKind : int32_t { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kDefaultKind };

// cudaStreamCaptureStatus
inline constexpr int32_t kCaptureNone = 0;

// Flags of cuGetProcAddress.
inline constexpr uint64_t kLegacyStream = 1, kPerThreadStream = 2;
inline constexpr int32_t kNewest = 13000;  // the newest version of CUDA whose functions are known here

}  // namespace ddbg::shim::cuda
