// ddbg's declarations of NCCL's profiler interface against NCCL's own headers, where they are (src/include/plugin of
// its sources, or the copies in ext-profiler/*/nccl). Compiled, not run.
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#if __has_include("nccl_profiler.h")
// Their types; the profiler's headers use them and declare no more.
typedef enum { ncclSuccessOfTest = 0 } ncclResult_t;
typedef void (*ncclDebugLogger_t)(int level, unsigned long flags, const char* file, int line, const char* format, ...);
typedef pid_t ncclPid_t;
#include "nccl_profiler.h"
#include "shim/nccl/plugin/abi.h"

namespace own = ddbg::shim::nccl::plugin;

#define SAME_SIZE(version)                                                                           \
  static_assert(sizeof(own::DescriptorV##version) == sizeof(ncclProfilerEventDescr_v##version##_t)); \
  static_assert(sizeof(own::VersionOf<version>) == sizeof(ncclProfiler_v##version##_t))
#define SAME_FIELD(version, mine, theirs) \
  static_assert(offsetof(own::DescriptorV##version, mine) == offsetof(ncclProfilerEventDescr_v##version##_t, theirs))

SAME_SIZE(1);
SAME_SIZE(2);
SAME_SIZE(3);
SAME_SIZE(4);
SAME_FIELD(1, coll.seq_number, coll.seqNumber);
SAME_FIELD(1, coll.datatype, coll.datatype);
SAME_FIELD(1, coll.proto, coll.proto);
SAME_FIELD(1, p2p.peer, p2p.peer);
SAME_FIELD(2, coll.algo, coll.algo);
SAME_FIELD(2, p2p.count, p2p.count);
SAME_FIELD(3, coll.algo, coll.algo);
SAME_FIELD(3, kernel.channel, kernelCh.channelId);
SAME_FIELD(4, coll.channels, coll.nChannels);
SAME_FIELD(4, coll.proto, coll.proto);
SAME_FIELD(4, p2p.channels, p2p.nChannels);
SAME_FIELD(4, kernel.timer, kernelCh.pTimer);
#ifdef PROFILER_V5_H_
SAME_SIZE(5);
SAME_FIELD(5, coll_api.captured, collApi.graphCaptured);
SAME_FIELD(5, p2p_api.stream, p2pApi.stream);
SAME_FIELD(5, group_api.depth, groupApi.groupDepth);
SAME_FIELD(5, coll.parent_group, coll.parentGroup);
SAME_FIELD(5, p2p.parent_group, p2p.parentGroup);
SAME_FIELD(5, proxy_op.pid, proxyOp.pid);
#endif
#ifdef PROFILER_V6_H_
SAME_SIZE(6);
SAME_FIELD(6, ce_coll.sync_strategy, ceColl.syncStrategy);
SAME_FIELD(6, ce_coll.stream, ceColl.stream);
static_assert(int{own::kCeBatch} == int{ncclProfileCeBatch});
#endif
static_assert(int{own::kKernelCh} == int{ncclProfileKernelCh} && own::kKernelChStop == ncclProfilerKernelChStop);
#endif
