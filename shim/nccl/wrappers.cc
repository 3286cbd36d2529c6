// ncclX and pncclX for every row of calls_nccl.def. Compiled without exceptions but not noexcept: the host's exceptions
// and longjmps pass.
#include "shim/interpose/arities.h"
#include "shim/nccl/wrapper.h"
#include "shim/recorder/say.h"

namespace ddbg::shim::nccl {

Word NoFunction(NcclCall call) noexcept {
  Say("%s was called, which no loaded NCCL has; the program gets ncclInvalidUsage",
      kCalls[CallIndex(call)].name.data());
  return kInvalidUsage;
}

}  // namespace ddbg::shim::nccl

namespace {
using ddbg::NcclCall;
using ddbg::shim::Word;
using ddbg::shim::nccl::Run;
}  // namespace

#define DDBG_EXPORT extern "C" [[gnu::visibility("default")]]
#define DDBG_BODY(name, parameters, ...)                                                                            \
  DDBG_EXPORT Word name parameters {                                                                                \
    return Run<NcclCall::name>(__builtin_frame_address(0), __builtin_return_address(0) __VA_OPT__(, ) __VA_ARGS__); \
  }                                                                                                                 \
  DDBG_EXPORT Word p##name parameters {                                                                             \
    return Run<NcclCall::name>(__builtin_frame_address(0), __builtin_return_address(0) __VA_OPT__(, ) __VA_ARGS__); \
  }
#define DDBG_NCCL_OWN(...)
#define DDBG_NCCL_EVENT(...)
#define DDBG_NCCL(name, kind, shape, ...) DDBG_DEFINE(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_nccl.def"
