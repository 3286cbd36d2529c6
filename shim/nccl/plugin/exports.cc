// ncclProfiler_v1 … ncclProfiler_v6, one set of functions each, made by the compiler from the version's number.
//
// Where there is another plugin, it is called with its own contexts and handles, for the events that it asked for, as
// NCCL would: handles are ours, and each parent is given as the other's. A parent of another process (a proxy that
// sends on its behalf) is passed on as it is; nobody may look into it here.
#include "shim/nccl/plugin/exports.h"

#include <unistd.h>

#include <type_traits>

#include "shim/nccl/plugin/abi.h"
#include "shim/nccl/plugin/offer.h"
#include "shim/nccl/plugin/plugin.h"

namespace ddbg::shim::nccl::plugin {
namespace {

constexpr int32_t kOk = 0;
constinit std::atomic<int32_t> g_pid{0};  // of this process, as of the last communicator

template <int kVersion>
const VersionOf<kVersion>& Other(const Context& c) {
  return *static_cast<const VersionOf<kVersion>*>(c.other_plugin);
}

void* OthersHandle(void* handle) {
  const Event* event = Find(handle);
  return event ? event->other.load(std::memory_order_relaxed) : nullptr;
}

template <class D>
D WithOthersParents(const D& from) {
  D copy = from;
  bool is_foreign = from.type == kProxyOp && from.proxy_op.pid != g_pid.load(std::memory_order_relaxed);
  if (!is_foreign) copy.parent = OthersHandle(from.parent);
  if constexpr (requires { copy.coll.parent_group; }) {
    if (from.type == kColl) copy.coll.parent_group = OthersHandle(from.coll.parent_group);
    if (from.type == kP2p) copy.p2p.parent_group = OthersHandle(from.p2p.parent_group);
  }
  return copy;
}

template <int kVersion>
int32_t StartEvent(void* context, void** handle, typename VersionOf<kVersion>::Descriptor* descriptor) {
  *handle = nullptr;
  if (!context || !descriptor) return kOk;
  Context& c = *static_cast<Context*>(context);
  if (c.id.load(std::memory_order_acquire) == 0) return kOk;
  Told told = Read(*descriptor);
  bool for_other = OtherWants(c, told.type);
  Event* event;
  uint64_t ticket;
  *handle = Start(__builtin_frame_address(0), c, told, for_other, &event, &ticket);
  if (event && for_other) {
    auto copy = WithOthersParents(*descriptor);
    void* others = nullptr;
    Other<kVersion>(c).start(c.other, &others, &copy);
    event->other.store(others, std::memory_order_relaxed);
  }
  if (event) EventRing::Publish(*event, ticket);
  if (c.other_plugin) SetMask(c);
  return kOk;
}

template <int kVersion>
int32_t StopEvent(void* handle) {
  Event* event = Find(handle);
  // NCCL has been seen to use an event after its end (nccl#1992): once is enough.
  if (!event || !event->open.load(std::memory_order_acquire)) return kOk;
  Stop(__builtin_frame_address(0), *event);
  void* others = event->other.load(std::memory_order_relaxed);
  Context* c = ContextOf(*event);
  if (others && c && c->other_plugin) Other<kVersion>(*c).stop(others);
  event->open.store(0, std::memory_order_release);
  return kOk;
}

template <int kVersion>
int32_t RecordEventState(void* handle, int32_t state, void* arguments) {
  Event* event = Find(handle);
  if (!event || !event->open.load(std::memory_order_acquire)) return kOk;
  // The one argument of this state is the time (v4 on).
  if (kVersion >= 4 && state == kKernelChStop && arguments)
    RecordKernelStop(*event, *static_cast<const uint64_t*>(arguments));
  void* others = event->other.load(std::memory_order_relaxed);
  Context* c = ContextOf(*event);
  if (others && c && c->other_plugin) Other<kVersion>(*c).record(others, state, arguments);
  return kOk;
}

template <int kVersion>
int32_t Finalize(void* context) {
  if (!context) return kOk;
  Context& c = *static_cast<Context*>(context);
  if (c.id.load(std::memory_order_acquire) == 0) return kOk;
  const void* other = c.other_plugin;
  void* others = c.other;
  if (other) static_cast<const VersionOf<kVersion>*>(other)->finalize(others);
  End(c);
  return kOk;
}

// `ask`: calls the other plugin's init with its context and mask.
template <int kVersion, class Ask>
int32_t Init(void* frame, void** context, int32_t* mask, uint64_t hash, const char* name, int32_t ranks, int32_t rank,
             Ask ask) {
  *context = nullptr;
  g_pid.store(getpid(), std::memory_order_relaxed);
  Context* c = Begin(frame, kVersion, hash, name, ranks, rank);
  if (!c) {
    // Declined, by a mask with which NCCL makes no events. It has one for all communicators: where there was no room
    // for this one, the others' stays.
    if (mask && !IsWanted()) *mask = 0;
    return kOk;
  }
  c->mask = mask;
  if (const void* other = OtherPlugin(kVersion)) {
    bool begun = ask(*static_cast<const VersionOf<kVersion>*>(other), &c->other, OtherMask()) == kOk;
    if (begun) c->other_plugin = other;
  }
  SetMask(*c);
  *context = c;
  return kOk;
}

template <int kVersion>
int32_t InitOld(void** context, int32_t* mask) {
  return Init<kVersion>(__builtin_frame_address(0), context, mask, 0, nullptr, 0, -1,
                        [](auto& other, void** its, int32_t* its_mask) { return other.init(its, its_mask); });
}

int32_t InitWithHash(void** context, int32_t* mask, const char* name, uint64_t hash, int32_t nodes, int32_t ranks,
                     int32_t rank, void* logger) {
  return Init<4>(__builtin_frame_address(0), context, mask, hash, name, ranks, rank,
                 [&](auto& other, void** its, int32_t* its_mask) {
                   return other.init(its, its_mask, name, hash, nodes, ranks, rank, logger);
                 });
}

template <int kVersion>
int32_t InitWithId(void** context, uint64_t id, int32_t* mask, const char* name, int32_t nodes, int32_t ranks,
                   int32_t rank, void* logger) {
  return Init<kVersion>(__builtin_frame_address(0), context, mask, id, name, ranks, rank,
                        [&](auto& other, void** its, int32_t* its_mask) {
                          return other.init(its, id, its_mask, name, nodes, ranks, rank, logger);
                        });
}

template <int kVersion>
constexpr auto InitOf() {
  if constexpr (kVersion <= 3)
    return &InitOld<kVersion>;
  else if constexpr (kVersion == 4)
    return &InitWithHash;
  else
    return &InitWithId<kVersion>;
}

template <int kVersion>
constexpr VersionOf<kVersion> Make() {
  return {{"ddbg", InitOf<kVersion>(), StartEvent<kVersion>, StopEvent<kVersion>, RecordEventState<kVersion>,
           Finalize<kVersion>}};
}

}  // namespace
}  // namespace ddbg::shim::nccl::plugin

#define DDBG_PLUGIN(version)                                                                                      \
  [[gnu::visibility("default")]] constinit ddbg::shim::nccl::plugin::VersionOf<version> ncclProfiler_v##version = \
      ddbg::shim::nccl::plugin::Make<version>();
extern "C" {
DDBG_PLUGIN(1)
DDBG_PLUGIN(2)
DDBG_PLUGIN(3)
DDBG_PLUGIN(4)
DDBG_PLUGIN(5)
DDBG_PLUGIN(6)
}

namespace ddbg::shim::nccl::plugin {

const void* ExportOf(int version) noexcept {
  const void* const exports[] = {&ncclProfiler_v1, &ncclProfiler_v2, &ncclProfiler_v3,
                                 &ncclProfiler_v4, &ncclProfiler_v5, &ncclProfiler_v6};
  return exports[version - 1];
}

}  // namespace ddbg::shim::nccl::plugin
