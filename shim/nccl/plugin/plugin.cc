#include "shim/nccl/plugin/plugin.h"

#include <string.h>
#include <sys/mman.h>

#include <bit>
#include <new>

#include "proto/call.h"
#include "shim/cuda/streams.h"
#include "shim/nccl/library.h"
#include "shim/nccl/plugin/definitions.h"
#include "shim/nccl/plugin/offer.h"
#include "shim/recorder/ids.h"

namespace ddbg::shim::nccl::plugin {

constinit std::atomic<int32_t> g_other_mask{0};

namespace {

constexpr uint32_t kContexts = 1 << 12;
constinit EventRing g_tasks, g_channels;
constinit std::atomic<Context*> g_contexts{nullptr};

// Handles: a ticket of one of the rings, or an operation's number where there is nothing else to remember.
enum HandleKind : uint64_t { kTaskHandle = 1, kChannelHandle = 2, kOperationHandle = 3 };
void* MakeHandle(HandleKind kind, uint64_t number) { return reinterpret_cast<void*>(number << 2 | kind); }
HandleKind KindOf(void* handle) { return static_cast<HandleKind>(reinterpret_cast<uint64_t>(handle) & 3); }
uint64_t NumberOf(void* handle) { return reinterpret_cast<uint64_t>(handle) >> 2; }

bool IsOfProxy(uint32_t type) { return type & (kKernelCh | kProxyOp | kProxyStep | kProxyCtrl | kNetPlugin); }

// The calling thread, also where it is inside a call that a wrapper of ours records.
class OwnThread {
 public:
  explicit OwnThread(void* frame) : inside_(Inside(frame)), state_(inside_ ? inside_ : Enter(frame)) {}
  ~OwnThread() {
    if (state_ && !inside_) Leave(*state_);
  }
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;
  explicit operator bool() const { return state_ != nullptr; }
  ThreadState& operator*() const { return *state_; }

  // The call of NCCL that a wrapper has open on this thread.
  const Record* call() const {
    if (!inside_) return nullptr;
    const InFlight& f = inside_->slot->in_flight;
    const Record& r = f.half[0];
    bool of_nccl = r.call >= CallId(NcclCall{}) && r.call < CallId(NcclCall::kCount);
    return (f.sequence.load(std::memory_order_relaxed) & 1) && of_nccl ? &r : nullptr;
  }

  // The operation it is, or that its group consists of; 0: cannot be told.
  uint64_t operation() const {
    const Record* r = call();
    if (!r) return 0;
    const CallInfo& info = kCalls[r->call - kFirstCall];
    if (info.kind == CallKind::Send || info.kind == CallKind::Recv) return r->aux;
    if (info.shape == CallShape::Same || info.shape == CallShape::SameRoot) return r->aux;
    const InFlight& f = inside_->slot->in_flight;
    return info.kind == CallKind::GroupEnd && f.request_count == 1 ? f.requests[0] : 0;
  }

 private:
  ThreadState* inside_;
  ThreadState* state_;
};

Context* Contexts() {
  Context* contexts = g_contexts.load(std::memory_order_acquire);
  if (contexts) return contexts;
  size_t bytes = sizeof(Context) * kContexts;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (g_contexts.compare_exchange_strong(contexts, static_cast<Context*>(memory), std::memory_order_acq_rel))
    return static_cast<Context*>(memory);
  munmap(memory, bytes);
  return contexts;
}

Context* TakeContext() {
  constexpr uint32_t kBusy = ~uint32_t{0};
  Context* contexts = Contexts();
  for (uint32_t i = 0; contexts && i < kContexts; ++i) {
    uint32_t free = 0;
    if (contexts[i].id.load(std::memory_order_relaxed) != 0) continue;
    if (contexts[i].id.compare_exchange_strong(free, kBusy, std::memory_order_acquire)) return &contexts[i];
  }
  return nullptr;
}

// As the clock of records has it, ns since the recorder was made.
int64_t HostNs(uint64_t ticks, const RecordClock& clock) {
  return static_cast<int64_t>(static_cast<double>(ticks - clock.start) * clock.ns_per_tick);
}

void PushDetail(ThreadState& t, const Context& c, const Told& told, uint64_t operation, bool nested) {
  Record r = {};
  r.call = told.type == kColl  ? CallId(NcclCall::ncclProfileColl)
           : told.type == kP2p ? CallId(NcclCall::ncclProfileP2p)
                               : CallId(NcclCall::ncclProfileCeColl);
  r.start = Now();
  r.count = told.count;
  r.comm = c.comm.load(std::memory_order_relaxed);
  r.seq = static_cast<uint32_t>(told.seq);
  r.dtype = TypeIdOf(told.datatype);
  r.peer = told.peer;
  r.tag = static_cast<int32_t>(PlanId(t, told));
  r.aux = operation;
  if (nested) r.flags |= kFlagNested;
  Push(t, LaneOf(CallKind::Detail), r);
}

// The record that a wrapper would have written. 0: not a call we know.
uint64_t PushCall(ThreadState& t, Context& c, const Told& told) {
  int call = CallOf(told.func);
  if (call < 0) return 0;
  const CallInfo& info = kCalls[static_cast<size_t>(call)];
  Record r = {};
  r.call = static_cast<uint16_t>(kFirstCall + call);
  r.start = Now();
  r.count = told.count;
  r.comm = c.comm.load(std::memory_order_relaxed);
  r.dtype = TypeIdOf(told.datatype);
  r.peer = told.type == kP2p || HasRoot(call) ? told.peer : kNoPeer;
  if (IsCollective(info.kind)) r.seq = c.next_seq.fetch_add(1, std::memory_order_relaxed);
  if (told.stream) r.tag = static_cast<int32_t>(cuda::StreamId(t, reinterpret_cast<uint64_t>(told.stream), false, -1));
  r.aux = NextOperation();
  r.flags = kFlagByPlugin | (told.captured ? kFlagCapturing : 0);
  Push(t, LaneOf(info.kind), r);
  return r.aux;
}

// The communicator whose call this thread is in is NCCL's of this context.
void Learn(ThreadState& t, Context& c, const Record* call) {
  if (!call || call->comm == 0 || c.comm.load(std::memory_order_relaxed) == call->comm) return;
  bool is_first = c.comm.exchange(call->comm, std::memory_order_relaxed) == 0;
  if (is_first && c.hash) DefineHash(t, call->comm, c.hash);
}

uint64_t OperationOf(void* handle) {
  if (!handle) return 0;
  if (KindOf(handle) == kOperationHandle) return NumberOf(handle);
  const Event* event = KindOf(handle) == kTaskHandle ? g_tasks.Find(NumberOf(handle)) : nullptr;
  return event ? event->operation.load(std::memory_order_relaxed) : 0;
}

void SetUp(Event& event, const Context& c, const Told& told, uint64_t operation) {
  event.operation.store(operation, std::memory_order_relaxed);
  event.other.store(nullptr, std::memory_order_relaxed);
  event.before.store(0, std::memory_order_relaxed);
  event.first.store(~uint64_t{0}, std::memory_order_relaxed);
  event.last.store(0, std::memory_order_relaxed);
  event.comm.store(c.comm.load(std::memory_order_relaxed), std::memory_order_relaxed);
  event.context.store(c.id.load(std::memory_order_relaxed), std::memory_order_relaxed);
  event.begun.store(0, std::memory_order_relaxed);
  event.done.store(0, std::memory_order_relaxed);
  event.channels.store(static_cast<uint8_t>(told.channels), std::memory_order_relaxed);
  event.type.store(static_cast<uint8_t>(std::countr_zero(told.type)), std::memory_order_relaxed);
}

bool IsTimed(const Context& c) { return c.own && (OwnMask(c.version) & kKernelCh); }

// What the program called. From v5 on; the parent of what follows.
uint64_t StartApi(void* frame, Context& c, const Told& told) {
  OwnThread thread(frame);
  if (!thread) return 0;
  Learn(*thread, c, thread.call());
  if (uint64_t operation = thread.operation()) return operation;
  return told.type == kCollApi && !HasWrappers(*thread) ? PushCall(*thread, c, told) : 0;
}

struct Task {
  uint64_t operation = 0;
  uint64_t before = 0;  // ticks
};

Task StartTask(void* frame, Context& c, const Told& told) {
  OwnThread thread(frame);
  Task task;
  if (!thread) return task;
  const Record* call = thread.call();
  task.operation = OperationOf(told.parent);
  if (task.operation == 0) task.operation = thread.operation();
  Learn(*thread, c, call);  // a group's end has no communicator
  bool is_new = task.operation == 0 && !HasWrappers(*thread);
  if (is_new) task.operation = PushCall(*thread, c, told);
  PushDetail(*thread, c, told, task.operation, call != nullptr);
  // The device cannot have begun before: what is captured into a graph runs later, on other threads.
  if (call) task.before = call->start;
  return task;
}

void StartChannel(Context& c, const Told& told, Event& channel) {
  RecordClock clock = CurrentClock();
  int64_t now = HostNs(Now(), clock);
  uint64_t timer = told.timer ? told.timer : static_cast<uint64_t>(now);
  channel.operation.store(reinterpret_cast<uint64_t>(told.parent), std::memory_order_relaxed);
  channel.first.store(timer, std::memory_order_relaxed);
  channel.last.store(0, std::memory_order_relaxed);
  Event* task = KindOf(told.parent) == kTaskHandle ? g_tasks.Find(NumberOf(told.parent)) : nullptr;
  if (!task) return;
  task->begun.fetch_add(1, std::memory_order_relaxed);
  if (told.timer == 0 || clock.ns_per_tick == 0) return;
  c.clock.WasBefore(static_cast<int64_t>(timer), now);
  if (uint64_t before = task->before.load(std::memory_order_relaxed))
    c.clock.WasAfter(static_cast<int64_t>(timer), HostNs(before, clock));
}

void KeepLess(std::atomic<uint64_t>& kept, uint64_t value) {
  uint64_t seen = kept.load(std::memory_order_relaxed);
  while (value < seen && !kept.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

void KeepMore(std::atomic<uint64_t>& kept, uint64_t value) {
  uint64_t seen = kept.load(std::memory_order_relaxed);
  while (value > seen && !kept.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

void PushCompletion(void* frame, const Context& c, const Event& task) {
  RecordClock clock = CurrentClock();
  uint64_t operation = task.operation.load(std::memory_order_relaxed);
  OwnThread thread(frame);
  if (operation == 0 || !thread || clock.ns_per_tick == 0) return;
  // v3 has no times of the device: the ones here are of the host, when the proxy thread saw it.
  DeviceClock::Difference difference = {0, DeviceClock::kUnknown, true};
  if (c.version > 3) difference = c.clock.Get();
  if (!difference.known) return;
  int64_t first = static_cast<int64_t>(task.first.load(std::memory_order_relaxed)) + difference.ns;
  uint64_t length = task.last.load(std::memory_order_relaxed) - task.first.load(std::memory_order_relaxed);
  Record r = {};
  r.call = kCallCompletion;
  r.start = clock.start + static_cast<uint64_t>(static_cast<int64_t>(static_cast<double>(first) / clock.ns_per_tick));
  r.duration = static_cast<uint64_t>(static_cast<double>(length) / clock.ns_per_tick);
  r.comm = task.comm.load(std::memory_order_relaxed);
  r.peer = difference.error < INT32_MAX ? static_cast<int32_t>(difference.error) : INT32_MAX;
  r.aux = operation;
  Push(*thread, kBulkLane, r);
}

// Are all channels over? NCCL before 2.31 tells a number for sends and receives that is not that of these events;
// there, and where none is told, no more are awaited than have begun: later ones make it over once more.
bool IsOver(const Event& task, uint32_t done) {
  uint32_t channels = task.channels.load(std::memory_order_relaxed);
  bool counted = channels > 0 && (1u << task.type.load(std::memory_order_relaxed)) == kColl;
  return done >= (counted ? channels : task.begun.load(std::memory_order_relaxed));
}

void StopChannel(void* frame, const Context& c, Event& channel) {
  void* parent = reinterpret_cast<void*>(channel.operation.load(std::memory_order_relaxed));
  Event* task = KindOf(parent) == kTaskHandle ? g_tasks.Find(NumberOf(parent)) : nullptr;
  if (!task) return;
  uint64_t last = channel.last.load(std::memory_order_relaxed);
  RecordClock clock = CurrentClock();
  int64_t now = HostNs(Now(), clock);
  if (last == 0 && c.version > 3) return;  // it has not ended: the communicator is being torn down
  if (last == 0) last = static_cast<uint64_t>(now);
  KeepLess(task->first, channel.first.load(std::memory_order_relaxed));
  KeepMore(task->last, last);
  uint32_t done = task->done.fetch_add(1, std::memory_order_relaxed) + 1u;
  if (IsOver(*task, done)) PushCompletion(frame, c, *task);
}

}  // namespace

int32_t OwnMask(int version) noexcept {
  uint32_t mask = kColl | kP2p;
  if (version >= 6) mask |= kCeColl;
  if (version >= 3 && CurrentSettings().nccl_plugin == PluginMode::kTimes) mask |= kKernelCh;
  return static_cast<int32_t>(mask);
}

Context* Begin(void* frame, int version, uint64_t hash, const char* name, int32_t ranks, int32_t rank) noexcept {
  bool has_other = OtherPlugin(version) != nullptr;
  OwnThread thread(frame);
  bool own = IsWanted() && thread && PreparePlans(*thread);
  if (!own && !has_other) return nullptr;
  if (!g_tasks.Make() || !g_channels.Make()) return nullptr;
  Context* c = TakeContext();
  if (!c) return nullptr;
  uint32_t place = static_cast<uint32_t>(c - Contexts());
  uint32_t uses = c->uses + 1;
  new (c) Context{};
  c->uses = uses;
  c->hash = hash;
  c->version = version;
  c->ranks = ranks;
  c->rank = rank;
  c->own = own;
  if (own) {
    DefineLevel(*thread, version, has_other);
    const Record* call = thread.call();
    bool alone = call && (call->call == CallId(NcclCall::ncclCommInitRank) ||
                          call->call == CallId(NcclCall::ncclCommInitRankConfig) ||
                          call->call == CallId(NcclCall::ncclCommInitRankScalable));
    if (alone) Learn(*thread, *c, call);
    if (!HasWrappers(*thread)) c->comm.store(DefineCommunicator(*thread, hash, name, ranks, rank));
  }
  c->id.store((uses << 12 | place) + 1, std::memory_order_release);
  return c;
}

void End(Context& c) noexcept { c.id.store(0, std::memory_order_release); }

void SetMask(const Context& c) noexcept {
  if (!c.mask) return;
  int32_t mask = c.own ? OwnMask(c.version) : 0;
  if (c.other_plugin) mask |= g_other_mask.load(std::memory_order_relaxed);
  std::atomic_ref<int32_t> nccls(*c.mask);
  if (nccls.load(std::memory_order_relaxed) != mask) nccls.store(mask, std::memory_order_relaxed);
}

void* Start(void* frame, Context& c, const Told& told, bool for_other, Event** event, uint64_t* ticket) noexcept {
  Task task;
  bool is_task = told.type == kColl || told.type == kP2p || told.type == kCeColl;
  bool is_api = told.type == kCollApi || told.type == kP2pApi;
  if (c.own && is_api) task.operation = StartApi(frame, c, told);
  if (c.own && is_task) task = StartTask(frame, c, told);
  bool timed = IsTimed(c) && (told.type == kColl || told.type == kP2p || told.type == kKernelCh);
  *event = nullptr;
  if (!timed && !for_other) {
    // Before v5 NCCL makes no events of a group's tasks if the group's has no handle.
    return is_api || told.type == kGroup ? MakeHandle(kOperationHandle, task.operation) : nullptr;
  }
  EventRing& ring = IsOfProxy(told.type) ? g_channels : g_tasks;
  *event = ring.Take(ticket, [](const Event& taken) { return ContextOf(taken) != nullptr; });
  if (!*event) return told.type == kGroup ? MakeHandle(kOperationHandle, 0) : nullptr;
  SetUp(**event, c, told, task.operation);
  (*event)->before.store(task.before, std::memory_order_relaxed);
  if (timed && told.type == kKernelCh) StartChannel(c, told, **event);
  return MakeHandle(&ring == &g_channels ? kChannelHandle : kTaskHandle, *ticket);
}

Event* Find(void* handle) noexcept {
  if (!handle || KindOf(handle) == kOperationHandle) return nullptr;
  return (KindOf(handle) == kChannelHandle ? g_channels : g_tasks).Find(NumberOf(handle));
}

Context* ContextOf(const Event& event) noexcept {
  uint32_t id = event.context.load(std::memory_order_relaxed);
  Context* contexts = g_contexts.load(std::memory_order_acquire);
  if (!contexts || id == 0) return nullptr;
  Context& c = contexts[(id - 1) & (kContexts - 1)];
  return c.id.load(std::memory_order_acquire) == id ? &c : nullptr;
}

void RecordKernelStop(Event& event, uint64_t timer) noexcept {
  if (1u << event.type.load(std::memory_order_relaxed) != kKernelCh) return;
  event.last.store(timer, std::memory_order_relaxed);
  Context* c = ContextOf(event);
  RecordClock clock = c && c->own ? CurrentClock() : RecordClock{};
  if (c && timer && clock.ns_per_tick != 0) c->clock.WasBefore(static_cast<int64_t>(timer), HostNs(Now(), clock));
}

void Stop(void* frame, Event& event) noexcept {
  Context* c = ContextOf(event);
  bool is_channel = 1u << event.type.load(std::memory_order_relaxed) == kKernelCh;
  if (c && is_channel && IsTimed(*c)) StopChannel(frame, *c, event);
}

}  // namespace ddbg::shim::nccl::plugin
