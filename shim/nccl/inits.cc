// The wrappers of NCCL that no table can make: an ncclUniqueId by value (128 bytes: on the stack, or by reference on
// aarch64, as the compiler knows), and ncclCommInitAll with its many communicators.
#include "shim/nccl/wrapper.h"

namespace ddbg::shim::nccl {
namespace {

// `words` stand where the row's roles say, 0 in place of the id.
template <NcclCall kCall, class Function, class... W>
Word TracedInit(Function call, LibraryCopy* copy, void* frame, const UniqueId& id, W... words) {
  ThreadState* t = Enter(frame);
  if (!t) return call();
  const Word args[] = {words..., 0};
  Moment m;
  m.args = args;
  NewComm made;
  Before<kCall>(*t, m, &id, &made);
  Word result = call();
  After<kCall>(*t, m, result, copy, &made);
  Leave(*t);
  return result;
}

Word InitRank(void* frame, const void* caller, Word comm, Word ranks, const UniqueId& id, Word rank) {
  constexpr NcclCall kCall = NcclCall::ncclCommInitRank;
  const Word args[] = {comm, ranks, 0, rank};
  LibraryCopy* copy;
  auto* function = reinterpret_cast<Word (*)(Word, Word, UniqueId, Word)>(RealFunction<kCall>(args, caller, &copy));
  if (!function) return NoFunction(kCall);
  return TracedInit<kCall>([&] { return function(comm, ranks, id, rank); }, copy, frame, id, comm, ranks, Word{0},
                           rank);
}

Word InitRankConfig(void* frame, const void* caller, Word comm, Word ranks, const UniqueId& id, Word rank,
                    Word config) {
  constexpr NcclCall kCall = NcclCall::ncclCommInitRankConfig;
  const Word args[] = {comm, ranks, 0, rank, config};
  LibraryCopy* copy;
  auto* function =
      reinterpret_cast<Word (*)(Word, Word, UniqueId, Word, Word)>(RealFunction<kCall>(args, caller, &copy));
  if (!function) return NoFunction(kCall);
  return TracedInit<kCall>([&] { return function(comm, ranks, id, rank, config); }, copy, frame, id, comm, ranks,
                           Word{0}, rank, config);
}

// More devices than this are no node of today; those beyond go undescribed.
constexpr int32_t kMostAtOnce = 64;

Word InitAll(void* frame, const void* caller, Word comms, Word count_word, Word devices) {
  constexpr NcclCall kCall = NcclCall::ncclCommInitAll;
  const Word args[] = {comms, count_word, devices, 0};
  LibraryCopy* copy;
  auto* function = reinterpret_cast<Word (*)(Word, Word, Word)>(RealFunction<kCall>(args, caller, &copy));
  if (!function) return NoFunction(kCall);
  ThreadState* t = Enter(frame);
  if (!t) return function(comms, count_word, devices);
  Moment m;
  m.args = args;
  NewComm made[kMostAtOnce];
  int32_t count = static_cast<int32_t>(count_word);
  int32_t described = count < 0 ? 0 : count < kMostAtOnce ? count : kMostAtOnce;
  Before<kCall>(*t, m, nullptr, made);
  Record& r = t->slot->in_flight.half[0];
  uint64_t uid = UidOfOwn();
  for (int32_t i = 0; m.attached && i < described; ++i) {
    DescribeInitAll(*t, uid, count, i, devices ? At<int32_t>(devices)[i] : i, &made[i]);
    made[i].comm.copy = copy;
  }
  if (described > 0) r.comm = made[0].comm.id;
  Word result = function(comms, count_word, devices);
  for (int32_t i = 0; m.attached && i < described; ++i) {
    bool exists = static_cast<int32_t>(result) == kSuccess && comms && At<Word>(comms)[i];
    made[i].comm.described = 1;
    if (exists)
      AddCommunicator(*t, At<Word>(comms)[i], made[i]);
    else
      DropCommunicator(*t, made[i].comm.id);
  }
  After<kCall>(*t, m, result, copy, made);
  Leave(*t);
  return result;
}

}  // namespace
}  // namespace ddbg::shim::nccl

#define DDBG_EXPORT extern "C" [[gnu::visibility("default")]]
#define DDBG_FRAME __builtin_frame_address(0), __builtin_return_address(0)

using ddbg::shim::Word;
using ddbg::shim::nccl::UniqueId;

DDBG_EXPORT Word ncclCommInitRank(Word comm, Word ranks, UniqueId id, Word rank) {
  return ddbg::shim::nccl::InitRank(DDBG_FRAME, comm, ranks, id, rank);
}
DDBG_EXPORT Word pncclCommInitRank(Word comm, Word ranks, UniqueId id, Word rank) {
  return ddbg::shim::nccl::InitRank(DDBG_FRAME, comm, ranks, id, rank);
}
DDBG_EXPORT Word ncclCommInitRankConfig(Word comm, Word ranks, UniqueId id, Word rank, Word config) {
  return ddbg::shim::nccl::InitRankConfig(DDBG_FRAME, comm, ranks, id, rank, config);
}
DDBG_EXPORT Word pncclCommInitRankConfig(Word comm, Word ranks, UniqueId id, Word rank, Word config) {
  return ddbg::shim::nccl::InitRankConfig(DDBG_FRAME, comm, ranks, id, rank, config);
}
DDBG_EXPORT Word ncclCommInitAll(Word comms, Word count, Word devices) {
  return ddbg::shim::nccl::InitAll(DDBG_FRAME, comms, count, devices);
}
DDBG_EXPORT Word pncclCommInitAll(Word comms, Word count, Word devices) {
  return ddbg::shim::nccl::InitAll(DDBG_FRAME, comms, count, devices);
}
