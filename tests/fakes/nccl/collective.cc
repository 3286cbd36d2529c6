// Collectives as streams of bytes. Each rank puts a stream in, chunk by chunk, into its slot; in each step all ranks
// see the same part of all streams and take from it what is theirs:
//
//   AllReduce, Reduce   the reduction of all streams            AllGather      rank r's stream at r x its length
//   Broadcast           the root's stream                       ReduceScatter  the part of the reduction that is the
//   rank's
#include <string.h>

#include <algorithm>

#include "tests/fakes/core/settings.h"
#include "tests/fakes/nccl/arithmetic.h"
#include "tests/fakes/nccl/faults.h"
#include "tests/fakes/nccl/operation.h"

namespace nullnccl {
namespace {

class Collective {
 public:
  Collective(ncclComm& comm, const Operation& operation)
      : comm_(comm), operation_(operation), size_(SizeOf(operation.type)), block_(operation.count * size_) {
    stream_ = operation.kind == Kind::kReduceScatter ? block_ * comm.ranks : block_;
  }

  bool Run() {
    if (!Announce()) return false;
    if (!equal_ && !GetFaults().mismatch_finishes) return comm_.Hang(), false;
    if (!comm_.channels_agree || Stalls()) return comm_.Hang(), false;
    for (size_t at = 0; at < shortest_; at += kSlotBytes) {
      if (!Step(at, std::min(kSlotBytes, shortest_ - at))) return false;
    }
    if (!same_length_) comm_.mismatched = true;
    return true;
  }

 private:
  // Tells the others what this rank has come for, and hears it from them.
  bool Announce() {
    Lane* lanes = comm_.segment->device_lane;
    return comm_.Meet(
        lanes, ++comm_.device_step, true, [&] { Describe(&lanes[comm_.rank].description); }, [&] { Compare(lanes); });
  }

  void Describe(Description* mine) const {
    memset(mine, 0, sizeof(*mine));
    mine->bytes = stream_;
    mine->count = operation_.count;
    mine->kind = static_cast<int>(operation_.kind);
    mine->type = operation_.type;
    mine->op = std::min<int>(operation_.op, kFirstCustomOp);  // custom ops are numbered by each rank for itself
    mine->root = operation_.peer;
  }

  void Compare(const Lane* lanes) {
    const Description& mine = lanes[comm_.rank].description;
    shortest_ = stream_;
    for (int other = 0; other < comm_.ranks; ++other) {
      const Description& theirs = lanes[other].description;
      if (memcmp(&mine, &theirs, sizeof(mine)) == 0) continue;
      equal_ = false;
      same_length_ &= theirs.bytes == mine.bytes;
      shortest_ = std::min<size_t>(shortest_, theirs.bytes);
      nullgpu::Trace(
          "nccl mismatch: rank %d kind %d count %zu type %d op %d root %d, rank %d kind %d count %zu type %d op %d "
          "root %d",
          comm_.rank, mine.kind, static_cast<size_t>(mine.count), mine.type, mine.op, mine.root, other, theirs.kind,
          static_cast<size_t>(theirs.count), theirs.type, theirs.op, theirs.root);
    }
  }

  bool Stalls() const {
    const RankFault& stall = GetFaults().stall;
    return comm_.lineage->rank == stall.rank && comm_.lineage->collectives + 1 == stall.value;
  }

  bool Step(size_t at, size_t bytes) {
    return comm_.Meet(
        comm_.segment->device_lane, ++comm_.device_step, true, [&] { Put(at, bytes); }, [&] { Take(at, bytes); });
  }

  void Put(size_t at, size_t bytes) {
    if (operation_.kind == Kind::kBroadcast && comm_.rank != operation_.peer) return;
    char* slot = comm_.segment->slot[comm_.rank];
    const char* from = static_cast<const char*>(operation_.send) + at;
    if (!operation_.custom) {
      memcpy(slot, from, bytes);
      return;
    }
    const CustomOp& custom = *operation_.custom;
    Scale(slot, from, bytes / size_, operation_.type, custom.device_scalar ? custom.device_scalar : custom.value);
  }

  void Take(size_t at, size_t bytes) {
    switch (operation_.kind) {
      case Kind::kBroadcast: return TakeOne(operation_.peer, at, bytes);
      case Kind::kAllGather: return TakeEach(at, bytes);
      case Kind::kAllReduce: return TakeReduced(at, at, bytes);
      case Kind::kReduce: return comm_.rank == operation_.peer ? TakeReduced(at, at, bytes) : void();
      case Kind::kReduceScatter: return TakeOwnPart(at, bytes);
      default: return;
    }
  }

  char* Out(size_t at) const { return static_cast<char*>(operation_.recv) + at; }

  void TakeOne(int rank, size_t at, size_t bytes) {
    if (rank == comm_.rank && operation_.recv == operation_.send) return;
    memcpy(Out(at), comm_.segment->slot[rank], bytes);
  }

  void TakeEach(size_t at, size_t bytes) {
    for (int rank = 0; rank < comm_.ranks; ++rank) memcpy(Out(rank * block_ + at), comm_.segment->slot[rank], bytes);
  }

  // The reduction of the streams' bytes from `at`, of which the slots hold those from `slots_at`.
  void TakeReduced(size_t at, size_t slots_at, size_t bytes) {
    std::vector<const void*> inputs;
    for (int rank = 0; rank < comm_.ranks; ++rank) inputs.push_back(comm_.segment->slot[rank] + (at - slots_at));
    size_t out = operation_.kind == Kind::kReduceScatter ? at - comm_.rank * block_ : at;
    Reduce(Out(out), inputs, bytes / size_, operation_.type, operation_.op);
  }

  void TakeOwnPart(size_t at, size_t bytes) {
    size_t begin = std::max(at, comm_.rank * block_);
    size_t end = std::min(at + bytes, (comm_.rank + 1) * block_);
    if (begin < end) TakeReduced(begin, at, end - begin);
  }

  ncclComm& comm_;
  const Operation& operation_;
  const size_t size_;    // of an element
  const size_t block_;   // bytes that `count` stands for
  size_t stream_;        // bytes that this rank puts in
  size_t shortest_ = 0;  // that any rank puts in
  bool equal_ = true;
  bool same_length_ = true;
};

}  // namespace

bool RunCollective(ncclComm& comm, const Operation& operation) {
  bool finished = Collective(comm, operation).Run();
  ++comm.lineage->collectives;
  return finished;
}

}  // namespace nullnccl
