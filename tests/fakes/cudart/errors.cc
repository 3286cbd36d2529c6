// The last error of a thread, and names of errors.
#include "tests/fakes/cudart/abi.h"

namespace nullgpu {
namespace {

thread_local int last_error = kSuccess;

struct ErrorText {
  int error;
  const char* name;
  const char* text;
};

constexpr ErrorText kTexts[] = {
    {kSuccess, "cudaSuccess", "no error"},
    {kInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {kOutOfMemory, "cudaErrorMemoryAllocation", "out of memory"},
    {kNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {kInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {kInvalidHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {kIllegalState, "cudaErrorIllegalState", "the operation cannot be performed in the present state"},
    {kNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {kNotReady, "cudaErrorNotReady", "device not ready"},
    {kHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {kNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {kCaptureUnsupported, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {kCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {kCaptureMerge, "cudaErrorStreamCaptureMerge", "operation would result in a merge of separate capture sequences"},
    {kCaptureUnmatched, "cudaErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began"},
    {kCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {kCaptureIsolation, "cudaErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"},
    {kCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {kCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {kCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
};

const ErrorText* Find(int error) {
  for (const ErrorText& text : kTexts) {
    if (text.error == error) return &text;
  }
  return nullptr;
}

}  // namespace

// Not ready is an answer and no error.
int Return(int error) {
  if (error != kSuccess && error != kNotReady) last_error = error;
  return error;
}

}  // namespace nullgpu

using namespace nullgpu;

API int cudaGetLastError() { return std::exchange(last_error, kSuccess); }

API int cudaPeekAtLastError() { return last_error; }

API const char* cudaGetErrorName(int error) {
  const ErrorText* text = Find(error);
  return text ? text->name : "unrecognized error code";
}

API const char* cudaGetErrorString(int error) {
  const ErrorText* text = Find(error);
  return text ? text->text : "unrecognized error code";
}
