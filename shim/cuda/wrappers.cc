// cudaX, and cudaX_ptsz or cudaX_ptds, for every row of calls_cuda.def. Compiled without exceptions but not noexcept:
// the host's exceptions and longjmps pass.
#include "shim/cuda/wrapper.h"
#include "shim/interpose/arities.h"
#include "shim/recorder/say.h"

namespace ddbg::shim::cuda {

Word NoFunction(const CallInfo& call) noexcept {
  Say("%s was called, which no loaded CUDA has; the program gets error 302", call.name.data());
  return kSymbolNotFound;
}

}  // namespace ddbg::shim::cuda

namespace {
using ddbg::CudaCall;
using ddbg::shim::Word;
using ddbg::shim::cuda::Run;
}  // namespace

#define DDBG_RUN(name, per_thread, ...) \
  Run<CudaCall::name, per_thread>(__builtin_frame_address(0), __builtin_return_address(0) __VA_OPT__(, ) __VA_ARGS__)
#define DDBG_EXPORT extern "C" [[gnu::visibility("default")]]
#define DDBG_CUDA_OWN(...)

#define DDBG_BODY(name, parameters, ...) \
  DDBG_EXPORT Word name parameters { return DDBG_RUN(name, false __VA_OPT__(, ) __VA_ARGS__); }
#define DDBG_CUDA(name, suffix, kind, shape, ...) DDBG_DEFINE(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda.def"
#undef DDBG_CUDA
#undef DDBG_BODY

// The variants, rows of one suffix after those of the other.
#define DDBG_NONE(...)
#define DDBG_CUDA_OWN(...)
#define DDBG_BODY(name, parameters, ...) \
  DDBG_EXPORT Word name##_ptsz parameters { return DDBG_RUN(name, true __VA_OPT__(, ) __VA_ARGS__); }
#define DDBG_PTSZ_Plain DDBG_NONE
#define DDBG_PTSZ__ptds DDBG_NONE
#define DDBG_PTSZ__ptsz DDBG_DEFINE
#define DDBG_CUDA(name, suffix, kind, shape, ...) DDBG_PTSZ_##suffix(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda.def"
#undef DDBG_CUDA
#undef DDBG_BODY

#define DDBG_CUDA_OWN(...)
#define DDBG_BODY(name, parameters, ...) \
  DDBG_EXPORT Word name##_ptds parameters { return DDBG_RUN(name, true __VA_OPT__(, ) __VA_ARGS__); }
#define DDBG_PTDS_Plain DDBG_NONE
#define DDBG_PTDS__ptds DDBG_DEFINE
#define DDBG_PTDS__ptsz DDBG_NONE
#define DDBG_CUDA(name, suffix, kind, shape, ...) DDBG_PTDS_##suffix(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda.def"
#undef DDBG_CUDA
