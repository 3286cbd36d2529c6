// NCCL's profiler plugin interface, versions 1 to 6, as ddbg declares it by itself. A library exports
// `ncclProfiler_vN`; NCCL takes the highest it knows. Facts of src/include/plugin/profiler/profiler_v1.h …
// profiler_v6.h and nccl_profiler.h of NCCL 2.26.2, 2.28.3, 2.29.3 and later; tests/conformance/nccl_plugin_abi.cc
// compares them with headers that are installed.
//
//   v1  2.23.4   numbers for function, algorithm, protocol and type
//   v2  2.24     names in their place
//   v3  2.26     kernel channels, without a time; network plugins
//   v4  2.27     init tells the communicator; kernel channels carry the device's clock
//   v5  2.28.3   what the program called (group, collective, point-to-point) is an event, parent of what NCCL made of
//   it v6  2.29.2   copy-engine collectives
//
// v7 exists in NCCL's sources only, with fields still coming; a library without it is asked for v6.
// Names are NCCL's without their prefix. Who calls: the threads that call NCCL, those that NCCL makes for groups and
// non-blocking communicators, its proxy threads, and CUDA's callback threads when a graph runs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ddbg::shim::nccl::plugin {

// ncclProfileX: what an event is, and a bit of the activation mask.
enum EventType : uint32_t {
  kGroup = 1 << 0,
  kColl = 1 << 1,
  kP2p = 1 << 2,
  kProxyOp = 1 << 3,
  kProxyStep = 1 << 4,
  kProxyCtrl = 1 << 5,
  kKernelCh = 1 << 6,
  kNetPlugin = 1 << 7,
  kGroupApi = 1 << 8,
  kCollApi = 1 << 9,
  kP2pApi = 1 << 10,
  kKernelLaunch = 1 << 11,
  kCeColl = 1 << 12,
  kCeSync = 1 << 13,
  kCeBatch = 1 << 14,
};

// ncclProfilerEventState_t: the one that ddbg looks at. The others go through to another plugin as they are.
inline constexpr int32_t kKernelChStop = 22;

struct CollV1 {
  const char* name;
  uint64_t comm_hash;
  uint64_t seq_number;
  uint8_t func;
  const void* send_buff;
  void* recv_buff;
  size_t count;
  int32_t root;
  uint8_t datatype;
  uint32_t op;
  size_t traffic_bytes;
  uint8_t channels;
  uint8_t warps;
  uint8_t algo;
  uint8_t proto;
  int32_t is_collnet;
  int32_t is_nvls;
};
struct P2pV1 {
  const char* name;
  uint64_t comm_hash;
  uint8_t func;
  void* buff;
  uint8_t datatype;
  size_t count;
  int32_t peer;
};
struct CollV2 {
  const char* name;
  uint64_t comm_hash;
  uint64_t seq_number;
  const char* func;
  const void* send_buff;
  void* recv_buff;
  size_t count;
  int32_t root;
  const char* datatype;
  size_t traffic_bytes;
  uint8_t channels;
  uint8_t warps;
  const char* algo;
  const char* proto;
};
struct P2pV2 {
  const char* name;
  uint64_t comm_hash;
  const char* func;
  void* buff;
  const char* datatype;
  size_t count;
  int32_t peer;
};
struct CollV3 {
  const char* name;
  uint64_t comm_hash;
  uint64_t seq_number;
  const char* func;
  const void* send_buff;
  void* recv_buff;
  size_t count;
  int32_t root;
  const char* datatype;
  uint8_t channels;
  uint8_t warps;
  const char* algo;
  const char* proto;
};
struct CollV4 {
  uint64_t seq_number;
  const char* func;
  const void* send_buff;
  void* recv_buff;
  size_t count;
  int32_t root;
  const char* datatype;
  uint8_t channels;
  uint8_t warps;
  const char* algo;
  const char* proto;
};
struct P2pV4 {
  const char* func;
  void* buff;
  const char* datatype;
  size_t count;
  int32_t peer;
  uint8_t channels;
};
struct CollV5 {
  uint64_t seq_number;
  const char* func;
  const void* send_buff;
  void* recv_buff;
  size_t count;
  int32_t root;
  const char* datatype;
  uint8_t channels;
  uint8_t warps;
  const char* algo;
  const char* proto;
  void* parent_group;
};
struct P2pV5 {
  const char* func;
  void* buff;
  const char* datatype;
  size_t count;
  int32_t peer;
  uint8_t channels;
  void* parent_group;
};

struct ProxyOp {
  int32_t pid;  // another process's, when it sends on that one's behalf: its parent event is over there
  uint8_t channel;
  int32_t peer;
  int32_t steps;
  int32_t chunk_size;
  int32_t is_send;
};
struct KernelChV3 {
  uint8_t channel;
};
struct KernelChV4 {
  uint8_t channel;
  uint64_t timer;  // the device's globaltimer, ns, when it began
};
struct NetPlugin {
  int64_t id;
  void* data;
};
struct GroupApi {
  bool captured;
  int32_t depth;
};
struct CollApi {
  const char* func;
  size_t count;
  const char* datatype;
  int32_t root;
  void* stream;
  bool captured;
};
struct P2pApi {
  const char* func;
  size_t count;
  const char* datatype;
  void* stream;
  bool captured;
};
struct KernelLaunch {
  void* stream;
};
struct CeColl {
  uint64_t seq_number;
  const char* func;
  const void* send_buff;
  void* recv_buff;
  size_t count;
  int32_t root;
  const char* datatype;
  const char* sync_strategy;
  bool intra_batch_sync;
  uint32_t batch_size;
  uint32_t batches;
  uint32_t ce_seq_number;
  void* stream;
};
struct CeSync {
  bool is_complete;
  int32_t ranks;
};
struct CeBatch {
  int32_t ops;
  size_t total_bytes;
  bool intra_sync;
};

// What startEvent gets. `type` is one of EventType.
struct DescriptorV1 {
  uint8_t type;
  void* parent;
  int32_t rank;
  union {
    CollV1 coll;
    P2pV1 p2p;
    ProxyOp proxy_op;
    int32_t step;
  };
};
struct DescriptorV2 {
  uint8_t type;
  void* parent;
  int32_t rank;
  union {
    CollV2 coll;
    P2pV2 p2p;
    ProxyOp proxy_op;
    int32_t step;
  };
};
struct DescriptorV3 {
  uint8_t type;
  void* parent;
  int32_t rank;
  union {
    CollV3 coll;
    P2pV2 p2p;
    ProxyOp proxy_op;
    int32_t step;
    KernelChV3 kernel;
    NetPlugin net;
  };
};
struct DescriptorV4 {
  uint8_t type;
  void* parent;
  int32_t rank;
  union {
    CollV4 coll;
    P2pV4 p2p;
    ProxyOp proxy_op;
    int32_t step;
    KernelChV4 kernel;
    NetPlugin net;
  };
};
struct DescriptorV5 {
  uint64_t type;
  void* parent;
  int32_t rank;
  union {
    GroupApi group_api;
    CollApi coll_api;
    P2pApi p2p_api;
    KernelLaunch launch;
    CollV5 coll;
    P2pV5 p2p;
    ProxyOp proxy_op;
    int32_t step;
    KernelChV4 kernel;
    NetPlugin net;
  };
};
struct DescriptorV6 {
  uint64_t type;
  void* parent;
  int32_t rank;
  union {
    GroupApi group_api;
    CollApi coll_api;
    P2pApi p2p_api;
    KernelLaunch launch;
    CollV5 coll;
    P2pV5 p2p;
    ProxyOp proxy_op;
    int32_t step;
    KernelChV4 kernel;
    NetPlugin net;
    CeColl ce_coll;
    CeSync ce_sync;
    CeBatch ce_batch;
  };
};

static_assert(sizeof(DescriptorV1) == 120 && sizeof(DescriptorV2) == 128 && sizeof(DescriptorV3) == 120);
static_assert(sizeof(DescriptorV4) == 104 && sizeof(DescriptorV5) == 112 && sizeof(DescriptorV6) == 112);
static_assert(offsetof(DescriptorV1, parent) == 8 && offsetof(DescriptorV1, rank) == 16);
static_assert(offsetof(DescriptorV1, coll) == 24 && offsetof(DescriptorV6, coll) == 24);
static_assert(offsetof(CollV1, func) == 24 && offsetof(CollV1, root) == 56 && offsetof(CollV1, datatype) == 60);
static_assert(offsetof(CollV1, op) == 64 && offsetof(CollV1, channels) == 80 && offsetof(CollV1, is_nvls) == 88);
static_assert(offsetof(CollV2, datatype) == 64 && offsetof(CollV2, channels) == 80 && offsetof(CollV2, proto) == 96);
static_assert(offsetof(CollV3, channels) == 72 && offsetof(CollV3, proto) == 88);
static_assert(offsetof(CollV4, root) == 40 && offsetof(CollV4, channels) == 56 && offsetof(CollV4, proto) == 72);
static_assert(sizeof(CollV5) == 88 && sizeof(P2pV5) == 48 && offsetof(P2pV4, channels) == 36);
static_assert(offsetof(P2pV1, datatype) == 32 && offsetof(P2pV1, peer) == 48 && offsetof(P2pV2, peer) == 48);
static_assert(offsetof(KernelChV4, timer) == 8 && offsetof(CollApi, stream) == 32 && offsetof(CollApi, captured) == 40);
static_assert(offsetof(P2pApi, captured) == 32 && offsetof(GroupApi, depth) == 4 && sizeof(ProxyOp) == 24);
static_assert(offsetof(CeColl, sync_strategy) == 56 && offsetof(CeColl, batch_size) == 68 && sizeof(CeColl) == 88);

// What is exported. Every function returns an ncclResult_t; only init's is looked at.
//
// init differs. `logger` is NCCL's, passed on only. NCCL keeps one mask for all communicators, and looks at it at every
// event: a plugin may change what is behind `mask` later.
using InitV1 = int32_t(void** context, int32_t* mask);
using InitV4 = int32_t(void** context, int32_t* mask, const char* name, uint64_t comm_hash, int32_t nodes,
                       int32_t ranks, int32_t rank, void* logger);
using InitV5 = int32_t(void** context, uint64_t comm_id, int32_t* mask, const char* name, int32_t nodes, int32_t ranks,
                       int32_t rank, void* logger);

template <class D, class I>
struct Profiler {
  using Descriptor = D;
  using Init = I;
  const char* name;
  Init* init;
  int32_t (*start)(void* context, void** handle, Descriptor* descriptor);
  int32_t (*stop)(void* handle);
  int32_t (*record)(void* handle, int32_t state, void* arguments);
  int32_t (*finalize)(void* context);
};

template <int kVersion>
struct VersionOf;
template <>
struct VersionOf<1> : Profiler<DescriptorV1, InitV1> {};
template <>
struct VersionOf<2> : Profiler<DescriptorV2, InitV1> {};
template <>
struct VersionOf<3> : Profiler<DescriptorV3, InitV1> {};
template <>
struct VersionOf<4> : Profiler<DescriptorV4, InitV4> {};
template <>
struct VersionOf<5> : Profiler<DescriptorV5, InitV5> {};
template <>
struct VersionOf<6> : Profiler<DescriptorV6, InitV5> {};
inline constexpr int kVersions = 6;

static_assert(sizeof(VersionOf<1>) == 48 && sizeof(VersionOf<6>) == 48);

// What v1 says in numbers: ncclFunc_t, NCCL_ALGO_* and NCCL_PROTO_* of 2.23.4 (src/include/nccl_common.h).
inline constexpr const char* kFunctionNames[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                                 "AllReduce", "SendRecv", "Send",      "Recv"};
inline constexpr const char* kAlgorithmNames[] = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                                  "NVLS_TREE", "PAT"};
inline constexpr const char* kProtocolNames[] = {"LL", "LL128", "SIMPLE"};

}  // namespace ddbg::shim::nccl::plugin
