// Compiles only if proto/calls_nccl.def and shim/nccl/abi.h agree with the nccl.h it is compiled against.
#include <nccl.h>

#include "shim/nccl/abi.h"
#include "tests/conformance/row_check.h"

using namespace ddbg::shim::nccl;

namespace ddbg::conformance {

template <class P>
constexpr bool Suits(Role role) {
  switch (role) {
    case Role::Comm: return kIs<P, ncclComm_t>;
    case Role::NewComm: return kIs<P, ncclComm_t*>;
    case Role::Stream: return kIs<P, cudaStream_t>;
    case Role::Type: return kIs<P, ncclDataType_t>;
    case Role::Op: return kIs<P, ncclRedOp_t>;
    case Role::NewOp: return kIs<P, ncclRedOp_t*>;
    case Role::Count:
    case Role::Bytes: return kIs<P, size_t>;
    case Role::SendBuf: return kIs<P, const void*>;
    case Role::RecvBuf:
    case Role::Scalar:
    case Role::Pointer: return kIs<P, void*>;
    case Role::NewPointer: return kIs<P, void**>;
    case Role::RequestCount:
    case Role::Root:
    case Role::Dest:
    case Role::Source:
    case Role::RankCount:
    case Role::OwnRank:
    case Role::IdCount:
    case Role::ExcludeCount:
    case Role::Color:
    case Role::Key: return kIs<P, int>;
    case Role::Exclude: return kIs<P, int*>;
    case Role::Devices: return kIs<P, const int*>;
    case Role::UniqueIdValue: return kIs<P, ncclUniqueId>;
    case Role::UniqueIds: return kIs<P, ncclUniqueId*, const ncclUniqueId*>;
    case Role::Config: return kIs<P, ncclConfig_t*>;
    case Role::State: return kIs<P, ncclResult_t*>;
    default: return false;
  }
}

}  // namespace ddbg::conformance

// What the header may be too old for, as it is declared later.
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 29, 2)
ncclResult_t ncclCommGetUniqueId(ncclComm_t, ncclUniqueId*);
ncclResult_t ncclCommGrow(ncclComm_t, int, const ncclUniqueId*, int, ncclComm_t*, ncclConfig_t*);
struct ncclWaitSignalDesc_t;
ncclResult_t ncclPutSignal(const void*, size_t, ncclDataType_t, int, ncclWindow_t, size_t, int, int, unsigned, ncclComm_t,
                           cudaStream_t);
ncclResult_t ncclSignal(int, int, int, unsigned, ncclComm_t, cudaStream_t);
ncclResult_t ncclWaitSignal(int, ncclWaitSignalDesc_t*, ncclComm_t, cudaStream_t);
#endif
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 29, 7)
ncclResult_t ncclCommSuspend(ncclComm_t, int);
ncclResult_t ncclCommResume(ncclComm_t);
#endif

// Of nccl_device.h, which is for device code.
struct ncclDevCommRequirements;
struct ncclDevComm;
ncclResult_t ncclDevCommCreate(ncclComm_t, const ncclDevCommRequirements*, ncclDevComm*);
ncclResult_t ncclDevCommDestroy(ncclComm_t, const ncclDevComm*);

#define DDBG_NCCL_EVENT(...)  // no function
#define DDBG_NCCL(name, kind, shape, ...) DDBG_CHECK_ROW(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_nccl.def"
#undef DDBG_NCCL

#define SAME(ours, theirs) static_assert(static_cast<long>(ours) == static_cast<long>(theirs))

SAME(sizeof(UniqueId), sizeof(ncclUniqueId));
SAME(kSuccess, ncclSuccess);
SAME(kUnhandledCudaError, ncclUnhandledCudaError);
SAME(kInvalidUsage, ncclInvalidUsage);
SAME(kInProgress, ncclInProgress);
SAME(kSplitNoColor, NCCL_SPLIT_NOCOLOR);
SAME(kFirstOwnOp, ncclNumOps);
SAME(kTypeCount, ncclNumTypes);
SAME(Config::kUnsetInt, NCCL_CONFIG_UNDEF_INT);
SAME(Config::kSizeOffset, offsetof(ncclConfig_t, size));
SAME(Config::kMagicOffset, offsetof(ncclConfig_t, magic));
SAME(Config::kVersionOffset, offsetof(ncclConfig_t, version));

constexpr uint32_t OffsetOf(std::string_view name) {
  for (const Config::Field& field : Config::kFields)
    if (name == field.name) return field.offset;
  return 0;
}
#define FIELD(name) SAME(OffsetOf(#name), offsetof(ncclConfig_t, name))
FIELD(blocking);
FIELD(cgaClusterSize);
FIELD(minCTAs);
FIELD(maxCTAs);
FIELD(netName);
FIELD(splitShare);
FIELD(trafficClass);
FIELD(commName);
FIELD(collnetEnable);
FIELD(CTAPolicy);
FIELD(shrinkShare);
FIELD(nvlsCTAs);
FIELD(nChannelsPerNetPeer);
FIELD(nvlinkCentricSched);

int main() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  return config.magic != Config::kMagic;
}
