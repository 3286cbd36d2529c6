// Sends and receives through the pipe of each pair of ranks. A message is its length (8 bytes) and its bytes.
#include <algorithm>

#include "tests/fakes/core/settings.h"
#include "tests/fakes/nccl/arithmetic.h"
#include "tests/fakes/nccl/faults.h"
#include "tests/fakes/nccl/operation.h"

namespace nullnccl {
namespace {

constexpr size_t kHeader = sizeof(uint64_t);

class Transfer {
 public:
  Transfer(ncclComm& comm, const Operation& operation)
      : comm_(comm), operation_(operation), wanted_(operation.count * SizeOf(operation.type)) {
    sends_ = operation.kind == Kind::kSend;
    pipe_ = sends_ ? &comm.segment->pipe[comm.rank][operation.peer] : &comm.segment->pipe[operation.peer][comm.rank];
    length_ = sends_ ? wanted_ : 0;
  }

  // Goes on as far as the pipe lets it; whether it moved anything.
  bool Move() {
    size_t before = moved_;
    while (size_t bytes = sends_ ? Send() : Receive()) moved_ += bytes;
    return moved_ != before;
  }

  // Nothing of it is left to go through the pipe.
  bool Moved() const { return moved_ >= kHeader && moved_ == kHeader + length_ && !stuck_; }

  // A send has ended only when its receive has taken all: what NCCL promises, and what makes a cycle of sends hang for
  // sure.
  bool Ended() const {
    if (!Moved()) return false;
    return !sends_ || GetFaults().buffered_send || pipe_->read.load(std::memory_order_acquire) >= end_;
  }

  int peer() const { return operation_.peer; }
  bool sends() const { return sends_; }

 private:
  size_t Send() {
    size_t bytes = 0;
    if (moved_ < kHeader) {
      bytes = pipe_->Write(reinterpret_cast<const char*>(&length_) + moved_, kHeader - moved_);
    } else if (moved_ < kHeader + length_) {
      size_t at = moved_ - kHeader;
      bytes = pipe_->Write(static_cast<const char*>(operation_.send) + at, length_ - at);
    }
    end_ = pipe_->written.load(std::memory_order_relaxed);
    return bytes;
  }

  size_t Receive() {
    if (stuck_) return 0;
    if (moved_ < kHeader) {
      size_t bytes = pipe_->Read(reinterpret_cast<char*>(&length_) + moved_, kHeader - moved_);
      if (moved_ + bytes == kHeader && length_ != wanted_) Mismatch();
      return bytes;
    }
    size_t at = moved_ - kHeader;
    if (at == length_) return 0;
    if (at >= wanted_) return pipe_->Read(nullptr, length_ - at);  // more than was asked for
    return pipe_->Read(static_cast<char*>(operation_.recv) + at, std::min<size_t>(length_, wanted_) - at);
  }

  void Mismatch() {
    nullgpu::Trace("nccl mismatch: rank %d receives %zu bytes from rank %d, which sends %zu", comm_.rank, wanted_,
                   operation_.peer, static_cast<size_t>(length_));
    stuck_ = !GetFaults().mismatch_finishes;
    if (!stuck_) comm_.mismatched = true;
  }

  ncclComm& comm_;
  const Operation& operation_;
  const size_t wanted_;
  bool sends_;
  Pipe<kPipeBytes>* pipe_;
  uint64_t length_;  // of the message; a receive learns it from the header
  size_t moved_ = 0;
  uint64_t end_ = 0;
  bool stuck_ = false;
};

// Messages of a pair keep their order: one waits for those before it in the same direction.
bool MoveAll(std::vector<Transfer>& transfers) {
  bool any = false;
  bool blocked[2][kMaxRanks] = {};
  for (Transfer& transfer : transfers) {
    bool& behind = blocked[transfer.sends()][transfer.peer()];
    if (behind) continue;
    any |= transfer.Move();
    behind = !transfer.Moved();
  }
  return any;
}

}  // namespace

bool RunPointToPoint(ncclComm& comm, const std::vector<Operation>& operations) {
  std::vector<Transfer> transfers;
  for (const Operation& operation : operations) transfers.emplace_back(comm, operation);
  auto ended = [&] {
    while (MoveAll(transfers)) {
    }
    return std::all_of(transfers.begin(), transfers.end(), [](const Transfer& transfer) { return transfer.Ended(); });
  };
  return comm.WaitFor(ended, true);
}

}  // namespace nullnccl
