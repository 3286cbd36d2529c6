// Names of what calls return. cuda_runtime_api.h and cuda.h 13.0, nccl.h 2.28.9.
#include <fmt/format.h>

#include <iterator>

#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {
namespace {

constexpr std::string_view kNcclResults[] = {"ncclSuccess",       "ncclUnhandledCudaError", "ncclSystemError",
                                             "ncclInternalError", "ncclInvalidArgument",    "ncclInvalidUsage",
                                             "ncclRemoteError",   "ncclInProgress"};

// cudaError_t and CUresult have one numbering, but not one set of names.
struct CudaError {
  int32_t code;
  std::string_view runtime, driver;
};
constexpr CudaError kCudaErrors[] = {
    {1, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE"},
    {2, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY"},
    {3, "cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED"},
    {4, "cudaErrorCudartUnloading", "CUDA_ERROR_DEINITIALIZED"},
    {9, "cudaErrorInvalidConfiguration", ""},
    {46, "cudaErrorDevicesUnavailable", "CUDA_ERROR_DEVICE_UNAVAILABLE"},
    {98, "cudaErrorInvalidDeviceFunction", ""},
    {100, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE"},
    {101, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE"},
    {201, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT"},
    {209, "cudaErrorNoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    {214, "cudaErrorECCUncorrectable", "CUDA_ERROR_ECC_UNCORRECTABLE"},
    {220, "cudaErrorNvlinkUncorrectable", "CUDA_ERROR_NVLINK_UNCORRECTABLE"},
    {304, "cudaErrorOperatingSystem", "CUDA_ERROR_OPERATING_SYSTEM"},
    {400, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE"},
    {500, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND"},
    {600, "cudaErrorNotReady", "CUDA_ERROR_NOT_READY"},
    {700, "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {701, "cudaErrorLaunchOutOfResources", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {702, "cudaErrorLaunchTimeout", "CUDA_ERROR_LAUNCH_TIMEOUT"},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"},
    {709, "cudaErrorContextIsDestroyed", "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    {710, "cudaErrorAssert", "CUDA_ERROR_ASSERT"},
    {716, "cudaErrorMisalignedAddress", "CUDA_ERROR_MISALIGNED_ADDRESS"},
    {719, "cudaErrorLaunchFailure", "CUDA_ERROR_LAUNCH_FAILED"},
    {800, "cudaErrorNotPermitted", "CUDA_ERROR_NOT_PERMITTED"},
    {801, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED"},
    {802, "cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY"},
    {803, "cudaErrorSystemDriverMismatch", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
    {900, "cudaErrorStreamCaptureUnsupported", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {901, "cudaErrorStreamCaptureInvalidated", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
    {906, "cudaErrorStreamCaptureImplicit", "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
    {907, "cudaErrorCapturedEvent", "CUDA_ERROR_CAPTURED_EVENT"},
    {908, "cudaErrorStreamCaptureWrongThread", "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
    {999, "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN"},
};

}  // namespace

std::string_view NcclResultName(uint64_t result) {
  return result < std::size(kNcclResults) ? kNcclResults[result] : std::string_view();
}

std::string_view ResultName(const Call& call) {
  if (!call.known() || call.result == 0) return "";
  if (IsNccl(call)) return NcclResultName(static_cast<uint32_t>(call.result));
  if (!IsCuda(call)) return "";
  for (const CudaError& error : kCudaErrors)
    if (error.code == call.result) return call.info().api == Api::Cuda ? error.runtime : error.driver;
  return "";
}

std::string ResultText(const Call& call) {
  std::string_view name = ResultName(call);
  return name.empty() ? std::to_string(call.result) : fmt::format("{} ({})", name, call.result);
}

}  // namespace ddbg::analyzer
