// cuX, and cuX_ptsz or cuX_ptds, for every row of calls_cuda_driver.def; and the same once more for functions that
// cuGetProcAddress has given, each calling what is bound to it.
//
// Each call is recorded once: not if it is made by a call of the runtime that is recorded itself; as a nested record if
// NCCL or MPI makes it inside a call; else as a call of its own, which it is if cuBLAS, Triton or a runtime that is
// linked statically makes it.
#include <utility>

#include "shim/cuda/wrapper.h"
#include "shim/interpose/arities.h"

namespace ddbg::shim::cuda {
namespace {

// Frame of the outermost nested call: the driver may call itself.
constinit thread_local uintptr_t g_nested [[gnu::tls_model("initial-exec")]] = 0;

bool IsRecordedWithin(const ThreadState& t) {
  uint16_t call = t.slot->in_flight.half[0].call;
  if (call < kFirstCall) return false;
  Api api = kCalls[call - kFirstCall].api;
  return api == Api::Nccl || api == Api::Mpi;
}

template <CudaDriverCall kCall, bool kPerThread, class... W>
[[gnu::noinline]] Word Nested(ThreadState& t, Word (*function)(W...), uintptr_t frame, W... words) {
  if (!IsRecordedWithin(t) || (g_nested && frame < g_nested && g_nested < t.guard)) return function(words...);
  const Word args[] = {words..., 0};
  g_nested = frame;
  Moment m;
  m.args = args;
  m.attached = Attach(t);
  Record r = {};
  r.call = CallId(kCall);
  r.peer = kNoPeer;
  r.flags = kFlagNested | (kPerThread ? kFlagPerThread : 0);
  r.stack = t.slot->in_flight.half[0].stack;
  if (m.attached) FillArguments<kCall, kPerThread>(t, r, m);
  r.start = Now();
  r.result = static_cast<int32_t>(function(words...));
  r.duration = Now() - r.start;
  if (m.attached) FillOutcome<kCall>(t, r, m, nullptr);
  Push(t, LaneOf(kInfo<kCall>.kind), r);
  g_nested = 0;
  return r.result;
}

template <CudaDriverCall kCall, bool kPerThread, class... W>
[[gnu::always_inline]] inline Word RunReal(Word (*function)(W...), void* frame, W... words) {
  if (ThreadState* outer = Inside(frame)) [[unlikely]]
    return Nested<kCall, kPerThread>(*outer, function, reinterpret_cast<uintptr_t>(frame), words...);
  return Traced<kCall, kPerThread>(function, nullptr, frame, words...);
}

template <CudaDriverCall kCall, bool kPerThread, class... W>
[[gnu::always_inline]] inline Word RunDriver(void* frame, const void* caller, W... words) {
  LibraryCopy* copy = g_driver_copies.Of(caller);
  auto function =
      copy ? reinterpret_cast<Word (*)(W...)>(g_driver_copies.Function(*copy, DriverIndex(kCall, kPerThread)))
           : nullptr;
  if (!function) [[unlikely]]
    return NoFunction(kInfo<kCall>);
  if (!IsDriverLevelOn()) return function(words...);
  return RunReal<kCall, kPerThread>(function, frame, words...);
}

template <size_t>
using WordAt = Word;

template <CudaDriverCall kCall, bool kPerThread, class Indices>
struct Bound;
template <CudaDriverCall kCall, bool kPerThread, size_t... I>
struct Bound<kCall, kPerThread, std::index_sequence<I...>> {
  static Word Call(WordAt<I>... words) {
    void* function = g_bound[DriverIndex(kCall, kPerThread)].load(std::memory_order_acquire);
    return RunReal<kCall, kPerThread>(reinterpret_cast<Word (*)(WordAt<I>...)>(function), __builtin_frame_address(0),
                                      words...);
  }
};

template <CudaDriverCall kCall, bool kPerThread>
void* BoundWrapper() {
  using Indices = std::make_index_sequence<kRoles<kCall>.size()>;
  return reinterpret_cast<void*>(Bound<kCall, kPerThread, Indices>::Call);
}

}  // namespace

void* const kBoundWrappers[kDriverFunctions] = {
#define DDBG_CU(name, ...) BoundWrapper<CudaDriverCall::name, false>(),
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
#define DDBG_CU(name, ...) BoundWrapper<CudaDriverCall::name, true>(),
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
};

}  // namespace ddbg::shim::cuda

namespace {
using ddbg::CudaDriverCall;
using ddbg::shim::Word;
using ddbg::shim::cuda::RunDriver;
}  // namespace

#define DDBG_RUN(name, per_thread, ...)                                   \
  RunDriver<CudaDriverCall::name, per_thread>(__builtin_frame_address(0), \
                                              __builtin_return_address(0) __VA_OPT__(, ) __VA_ARGS__)
#define DDBG_EXPORT extern "C" [[gnu::visibility("default")]]
#define DDBG_NONE(...)

#define DDBG_BODY(name, parameters, ...) \
  DDBG_EXPORT Word name parameters { return DDBG_RUN(name, false __VA_OPT__(, ) __VA_ARGS__); }
#define DDBG_CU(name, suffix, lookup, since, until, kind, shape, ...) DDBG_DEFINE(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
#undef DDBG_BODY

#define DDBG_BODY(name, parameters, ...) \
  DDBG_EXPORT Word name##_ptsz parameters { return DDBG_RUN(name, true __VA_OPT__(, ) __VA_ARGS__); }
#define DDBG_PTSZ_Plain DDBG_NONE
#define DDBG_PTSZ__ptds DDBG_NONE
#define DDBG_PTSZ__ptsz DDBG_DEFINE
#define DDBG_CU(name, suffix, lookup, since, until, kind, shape, ...) \
  DDBG_PTSZ_##suffix(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
#undef DDBG_BODY

#define DDBG_BODY(name, parameters, ...) \
  DDBG_EXPORT Word name##_ptds parameters { return DDBG_RUN(name, true __VA_OPT__(, ) __VA_ARGS__); }
#define DDBG_PTDS_Plain DDBG_NONE
#define DDBG_PTDS__ptds DDBG_DEFINE
#define DDBG_PTDS__ptsz DDBG_NONE
#define DDBG_CU(name, suffix, lookup, since, until, kind, shape, ...) \
  DDBG_PTDS_##suffix(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
