// One wrapper for every CUDA function, made from its row in calls_cuda.def or calls_cuda_driver.def. Word-typed, as
// MPI's and NCCL's; dim3 by value is two words.
//
// Only the outermost call counts: what the runtime does by itself is part of the call that the program made.
#pragma once

#include <string.h>

#include "proto/call.h"
#include "shim/cuda/completion.h"
#include "shim/cuda/driver.h"
#include "shim/cuda/kernels.h"
#include "shim/cuda/library.h"
#include "shim/cuda/runtime.h"
#include "shim/cuda/streams.h"
#include "shim/interpose/roles.h"
#include "shim/interpose/word.h"
#include "shim/recorder/polls.h"
#include "shim/recorder/recorder.h"
#include "shim/recorder/stacks.h"

namespace ddbg::shim {
#define DDBG_CUDA(name, suffix, kind, shape, ...) DDBG_ROLES(CudaCall::name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda.def"
#undef DDBG_CUDA
#define DDBG_CU(name, suffix, lookup, since, until, kind, shape, ...) \
  DDBG_ROLES(CudaDriverCall::name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
}  // namespace ddbg::shim

namespace ddbg::shim::cuda {

// What a wrapper keeps from before the real call until after it. Trivial: a longjmp may skip the end.
struct Moment {
  const Word* args;
  uint64_t stream;  // the handle, 2 if it is the thread's own
  TimedOperation* timed;
  bool attached;
};

template <auto kCall>
inline constexpr bool kIsDriver = kInfo<kCall>.api == Api::CudaDriver;

template <auto kCall, Role kRole>
[[gnu::always_inline]] inline uint64_t Arg(const Word* args) {
  static_assert(Has<kCall>(kRole));
  return static_cast<uint64_t>(args[IndexOf<kCall>(kRole)]);
}

template <class T>
[[gnu::always_inline]] inline T ReadAt(uint64_t address, size_t offset = 0) {
  T value;
  memcpy(&value, reinterpret_cast<const char*>(address) + offset, sizeof(value));
  return value;
}

// A copy's direction as its name gives it: cudaMemcpyKind + 1, 0 if it does not.
constexpr uint8_t DirectionOf(std::string_view name) {
  auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("HtoD") || has("HtoA")) return kHostToDevice + 1;
  if (has("DtoH") || has("AtoH")) return kDeviceToHost + 1;
  if (has("DtoD") || has("DtoA") || has("AtoD") || has("AtoA") || has("Peer")) return kDeviceToDevice + 1;
  return 0;
}

template <auto kCall>
[[gnu::always_inline]] inline int32_t DeviceFor(const ThreadState& t) {
  if constexpr (kIsDriver<kCall>)
    return CurrentDriverDevice();
  else
    return DeviceNow(t);
}

inline void FillLaunchConfig(Record& r, uint64_t address, uint64_t* stream) {
  if (!address) return;
  LaunchConfig config = ReadAt<LaunchConfig>(address);
  r.count = uint64_t{config.grid[0]} * config.grid[1] * config.grid[2];
  r.peer = static_cast<int32_t>(config.block[0] * config.block[1] * config.block[2]);
  *stream = config.stream;
}

template <auto kCall>
[[gnu::always_inline]] inline void FillLaunch(Record& r, const Word* args, uint64_t* stream) {
  if constexpr (Has<kCall>(Role::LaunchConfig)) FillLaunchConfig(r, Arg<kCall, Role::LaunchConfig>(args), stream);
  if constexpr (Has<kCall>(Role::GridXY)) {
    uint64_t grid = Arg<kCall, Role::GridXY>(args), block = Arg<kCall, Role::BlockXY>(args);
    r.count = (grid & 0xffffffff) * (grid >> 32) * static_cast<uint32_t>(Arg<kCall, Role::GridZ>(args));
    r.peer = static_cast<int32_t>((block & 0xffffffff) * (block >> 32) *
                                  static_cast<uint32_t>(Arg<kCall, Role::BlockZ>(args)));
  }
  if constexpr (Has<kCall>(Role::GridX)) {
    auto word = [](uint64_t value) { return uint64_t{static_cast<uint32_t>(value)}; };
    r.count =
        word(Arg<kCall, Role::GridX>(args)) * word(Arg<kCall, Role::GridY>(args)) * word(Arg<kCall, Role::GridZ>(args));
    r.peer = static_cast<int32_t>(Arg<kCall, Role::BlockX>(args) * Arg<kCall, Role::BlockY>(args) *
                                  Arg<kCall, Role::BlockZ>(args));
  }
  if constexpr (Has<kCall>(Role::Function))
    r.dtype = KernelId(Arg<kCall, Role::Function>(args));
  else
    r.dtype = KernelId(Arg<kCall, Role::Kernel>(args));
}

inline int32_t OtherDevice(int32_t own, int32_t dest, int32_t source) { return dest == own ? source : dest; }

template <auto kCall>
[[gnu::always_inline]] inline void FillCopy(const ThreadState& t, Record& r, const Word* args) {
  auto product = [](uint64_t address, size_t offset, size_t dimensions) {
    uint64_t bytes = address ? 1 : 0;
    for (size_t i = 0; i < dimensions && address; ++i)
      bytes *= ReadAt<uint64_t>(address, offset + i * sizeof(uint64_t));
    return bytes;
  };
  if constexpr (Has<kCall>(Role::CopyKind))
    r.op = static_cast<uint8_t>(Arg<kCall, Role::CopyKind>(args) + 1);
  else
    r.op = DirectionOf(kInfo<kCall>.name);
  if constexpr (Has<kCall>(Role::Copy3D)) {
    uint64_t address = Arg<kCall, Role::Copy3D>(args);
    r.count = product(address, kCopy3DExtent, 3);
    if (address) r.op = static_cast<uint8_t>(ReadAt<int32_t>(address, kCopy3DKind) + 1);
  }
  if constexpr (Has<kCall>(Role::PeerCopy3D)) {
    uint64_t address = Arg<kCall, Role::PeerCopy3D>(args);
    r.count = product(address, kPeerCopy3DExtent, 3);
    if (address)
      r.peer = OtherDevice(DeviceNow(t), ReadAt<int32_t>(address, kPeerCopy3DDestDevice),
                           ReadAt<int32_t>(address, kPeerCopy3DSourceDevice));
  }
  if constexpr (Has<kCall>(Role::DriverCopy2D))
    r.count = product(Arg<kCall, Role::DriverCopy2D>(args), kDriverCopy2DWidth, 2);
  if constexpr (Has<kCall>(Role::DriverCopy3D))
    r.count = product(Arg<kCall, Role::DriverCopy3D>(args), kDriverCopy3DWidth, 3);
  if constexpr (Has<kCall>(Role::DestDevice))
    r.peer = OtherDevice(DeviceNow(t), static_cast<int32_t>(Arg<kCall, Role::DestDevice>(args)),
                         static_cast<int32_t>(Arg<kCall, Role::SourceDevice>(args)));
}

// Synchronous copies and fills are work of the default stream.
template <auto kCall>
inline constexpr bool kOnDefaultStream = (kInfo<kCall>.kind == CallKind::Copy || kInfo<kCall>.kind == CallKind::Fill) &&
                                         !Has<kCall>(Role::Stream);
template <auto kCall>
inline constexpr bool kHasStream =
    Has<kCall>(Role::Stream) || Has<kCall>(Role::LaunchConfig) || kOnDefaultStream<kCall>;

template <auto kCall, bool kPerThread>
[[gnu::always_inline]] inline void FillStream(ThreadState& t, Record& r, Moment& m) {
  if (kPerThread && m.stream == 0) m.stream = kStreamPerThread;
  int32_t device = -1;
  // The runtime's own calls are what tells DeviceNow; a program of the driver does without them.
  if constexpr (kIsDriver<kCall>)
    if (m.stream <= kStreamPerThread) device = CurrentDriverDevice();
  r.tag = static_cast<int32_t>(StreamId(t, m.stream, kPerThread, device));
  if constexpr (kInfo<kCall>.shape == CallShape::Async)
    if (IsCapturing(m.stream)) r.flags |= kFlagCapturing;
}

template <auto kCall, bool kPerThread>
[[gnu::always_inline]] inline void FillArguments(ThreadState& t, Record& r, Moment& m) {
  constexpr CallKind kind = kInfo<kCall>.kind;
  m.stream = 0;
  if constexpr (Has<kCall>(Role::Bytes)) r.count = Arg<kCall, Role::Bytes>(m.args);
  if constexpr (Has<kCall>(Role::Width)) r.count = Arg<kCall, Role::Width>(m.args) * Arg<kCall, Role::Height>(m.args);
  if constexpr (kind == CallKind::Launch) FillLaunch<kCall>(r, m.args, &m.stream);
  if constexpr (kind == CallKind::Copy) FillCopy<kCall>(t, r, m.args);
  if constexpr (kind == CallKind::Alloc || kind == CallKind::Free || kind == CallKind::DeviceSync)
    r.peer = DeviceFor<kCall>(t);
  if constexpr (Has<kCall>(Role::Device)) r.peer = static_cast<int32_t>(Arg<kCall, Role::Device>(m.args));
  if constexpr (Has<kCall>(Role::Pointer)) r.aux = Arg<kCall, Role::Pointer>(m.args);
  if constexpr (Has<kCall>(Role::Event)) r.aux = Arg<kCall, Role::Event>(m.args);
  if constexpr (Has<kCall>(Role::CaptureMode)) r.op = static_cast<uint8_t>(Arg<kCall, Role::CaptureMode>(m.args) + 1);
  if constexpr (kind == CallKind::GraphCreate)
    r.dtype = static_cast<uint32_t>(Arg<kCall, Role::Graph>(m.args));
  else if constexpr (Has<kCall>(Role::Graph))
    r.aux = Arg<kCall, Role::Graph>(m.args);
  if constexpr (Has<kCall>(Role::Stream)) m.stream = Arg<kCall, Role::Stream>(m.args);
  if constexpr (kHasStream<kCall>) FillStream<kCall, kPerThread>(t, r, m);
}

template <auto kCall>
inline constexpr bool kTakesTime = kInfo<kCall>.kind == CallKind::Launch && !kIsDriver<kCall>;

template <auto kCall, bool kPerThread>
[[gnu::always_inline]] inline void Before(ThreadState& t, Moment& m, LibraryCopy* copy) {
  constexpr CallKind kind = kInfo<kCall>.kind;
  Record& r = t.slot->in_flight.half[0];
  r = Record{};
  r.call = CallId(kCall);
  r.peer = kNoPeer;
  if constexpr (kPerThread) r.flags = kFlagPerThread;
  t.slot->in_flight.request_count = 0;
  r.stack = CaptureStack(t, LaneOf(kind) == kVitalLane);
  m.stream = 0;
  m.timed = nullptr;
  m.attached = Attach(t);
  if (m.attached) [[likely]] {
    FillArguments<kCall, kPerThread>(t, r, m);
    if constexpr (kind == CallKind::StreamDestroy) ForgetStream(m.stream);
    if constexpr (kTakesTime<kCall>) m.timed = BeginKernel(t, copy, m.stream, r.dtype, &r.aux);
  }
  OpenCall(t, 1);
}

// What a call that succeeded has made.
template <auto kCall>
[[gnu::always_inline]] inline void FillNew(ThreadState& t, Record& r, const Word* args) {
  [[maybe_unused]] auto made = [](uint64_t place) { return place ? ReadAt<uint64_t>(place) : 0; };
  if constexpr (Has<kCall>(Role::NewPointer)) r.aux = made(Arg<kCall, Role::NewPointer>(args));
  if constexpr (Has<kCall>(Role::NewEvent)) r.aux = made(Arg<kCall, Role::NewEvent>(args));
  if constexpr (Has<kCall>(Role::NewGraph)) r.aux = made(Arg<kCall, Role::NewGraph>(args));
  if constexpr (Has<kCall>(Role::NewStream)) {
    uint32_t flags = 0;
    int32_t priority = 0;
    if constexpr (Has<kCall>(Role::StreamFlags)) flags = static_cast<uint32_t>(Arg<kCall, Role::StreamFlags>(args));
    if constexpr (Has<kCall>(Role::Priority)) priority = static_cast<int32_t>(Arg<kCall, Role::Priority>(args));
    r.tag = static_cast<int32_t>(AddStream(t, made(Arg<kCall, Role::NewStream>(args)), flags, priority));
  }
  if constexpr (Has<kCall>(Role::Device)) NoteDevice(r.peer);
}

template <auto kCall>
inline uint32_t NameLaunched(ThreadState& t, LibraryCopy* copy, const Word* args) {
  if constexpr (kIsDriver<kCall>)
    return NameDriverKernel(t, Arg<kCall, Role::Kernel>(args));
  else if constexpr (Has<kCall>(Role::Function))
    return NameKernel(t, copy, Arg<kCall, Role::Function>(args));
  else
    return NameKernel(t, copy, Arg<kCall, Role::Kernel>(args));
}

// Does a capture go on after cudaStreamEndCapture has failed so?
inline bool LeavesCapture(int32_t result) {
  return result == kInvalidValue || result == kInvalidHandle || result == kCaptureWrongThread;
}

inline void CountCapture(CallKind kind, int32_t result) {
  if (kind == CallKind::CaptureBegin && result == kSuccess) g_captures.fetch_add(1, std::memory_order_relaxed);
  if (kind != CallKind::CaptureEnd || LeavesCapture(result)) return;
  // Never below none: its begin may not have been seen.
  int32_t open = g_captures.load(std::memory_order_relaxed);
  while (open > 0 && !g_captures.compare_exchange_weak(open, open - 1, std::memory_order_relaxed)) continue;
}

// Fills in what only the outcome tells.
template <auto kCall>
[[gnu::always_inline]] inline void FillOutcome(ThreadState& t, Record& r, const Moment& m, LibraryCopy* copy) {
  constexpr CallKind kind = kInfo<kCall>.kind;
  if constexpr (kind == CallKind::CaptureBegin || kind == CallKind::CaptureEnd) CountCapture(kind, r.result);
  if (r.result == kSuccess) FillNew<kCall>(t, r, m.args);
  if constexpr (kind == CallKind::StreamDestroy)
    if (r.result != kSuccess) KeepStream(t, m.stream, static_cast<uint32_t>(r.tag));
  if constexpr (kind == CallKind::Launch)
    if (r.dtype == 0 && r.result == kSuccess) [[unlikely]]
      r.dtype = NameLaunched<kCall>(t, copy, m.args);
}

// Ends the call. Polls that found nothing are told in rows.
template <auto kCall>
[[gnu::always_inline]] inline void CloseQuery(ThreadState& t, Record& r) {
  uint64_t polled = kInfo<kCall>.kind == CallKind::EventQuery ? r.aux : static_cast<uint32_t>(r.tag);
  uint64_t key = polled ^ static_cast<uint64_t>(r.call) << 48;
  if (r.result == kNotReady) return CloseRepeatedPoll(t, kBulkLane, key);
  r.count = EndRepeatedPoll(t, key);
  CloseCall(t, kBulkLane);
}

template <auto kCall>
[[gnu::always_inline]] inline void After(ThreadState& t, const Moment& m, Word result, LibraryCopy* copy) {
  constexpr CallKind kind = kInfo<kCall>.kind;
  Record& r = t.slot->in_flight.half[0];
  r.result = static_cast<int32_t>(result);
  if (m.attached) FillOutcome<kCall>(t, r, m, copy);
  if constexpr (kTakesTime<kCall>) EndKernel(copy, m.timed, r.result == kSuccess);
  if constexpr (kind == CallKind::StreamQuery || kind == CallKind::EventQuery)
    CloseQuery<kCall>(t, r);
  else
    CloseCall(t, LaneOf(kind));
  TellDriver(t);
}

// Says so once; the program gets an error code that CUDA has.
Word NoFunction(const CallInfo& call) noexcept;

// `frame`: of the wrapper itself. Not inlined: exported and bound wrappers share it.
template <auto kCall, bool kPerThread, class... W>
[[gnu::noinline]] Word Traced(Word (*function)(W...), LibraryCopy* copy, void* frame, W... words) {
  ThreadState* t = Enter(frame);
  const Word args[] = {words..., 0};
  if (!t) {
    Word result = function(words...);
    if constexpr (Has<kCall>(Role::Device))
      if (static_cast<int32_t>(result) == kSuccess) NoteDevice(static_cast<int32_t>(Arg<kCall, Role::Device>(args)));
    return result;
  }
  Moment m;
  m.args = args;
  Before<kCall, kPerThread>(*t, m, copy);
  Word result = function(words...);
  After<kCall>(*t, m, result, copy);
  Leave(*t);
  return result;
}

template <CudaCall kCall, bool kPerThread, class... W>
[[gnu::always_inline]] inline Word Run(void* frame, const void* caller, W... words) {
  LibraryCopy* copy = g_copies.Of(caller);
  auto function = copy ? FunctionOf<Word(W...)>(*copy, FunctionIndex(kCall, kPerThread)) : nullptr;
  if (!function) [[unlikely]]
    return NoFunction(kInfo<kCall>);
  return Traced<kCall, kPerThread>(function, copy, frame, words...);
}

}  // namespace ddbg::shim::cuda
