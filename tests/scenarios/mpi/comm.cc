#include "comm.h"

#include <utility>

namespace {
constexpr size_t kRoom = 1 << 20;
}

const char* Collective::name() const {
  constexpr const char* kNames[] = {"MPI_Barrier", "MPI_Bcast",     "MPI_Reduce",  "MPI_Allreduce",
                                    "MPI_Gather",  "MPI_Allgather", "MPI_Alltoall"};
  return kNames[kind];
}

Comm::Comm(Job& job, MPI_Comm handle, const std::string& name)
    : job_(job), handle_(handle), name_(name), out_(new double[kRoom]), in_(new double[kRoom]) {
  MPI_Comm_rank(handle_, &rank_);
  MPI_Comm_size(handle_, &size_);
  if (handle_ != MPI_COMM_WORLD) MPI_Comm_set_name(handle_, name_.c_str());
  job_.Register(this);
}

Comm::~Comm() {
  job_.Unregister(this);
  if (handle_ != MPI_COMM_WORLD) MPI_Comm_free(&handle_);
}

bool Comm::GoesWrong(const char* fault, bool possible, const char* call, const char* field) {
  if (!possible || size_ < 2 || !job_.Strikes(fault)) return false;
  job_.Tell(this, call, field);
  return true;
}

// Every fault that a call itself can have, at whichever call of the program it strikes.
void Comm::Do(Collective call) {
  if (GoesWrong("skip", true, "", "call")) return;
  if (GoesWrong("extra", true, "MPI_Allreduce", "call")) Extra();
  if (GoesWrong("other_call", call.kind != Collective::kBarrier, Other(call).name(), "call")) call = Other(call);
  if (GoesWrong("root", call.rooted(), call.name(), "root")) call.root = (call.root + 1) % size_;
  if (GoesWrong("op", call.reduces(), call.name(), "op")) call.op = call.op == MPI_SUM ? MPI_MAX : MPI_SUM;
  if (GoesWrong("count", call.count > 1, call.name(), "count")) call.count += call.count / 2;
  if (GoesWrong("type", call.count > 1, call.name(), "datatype")) call.type = MPI_FLOAT;
  if (Swap(call)) return;
  Make(call);
  if (held_back_) job_.Tell(this, "", "call");  // nobody can see that an equal one has gone in its place
}

// Holds a call back until another one has gone first. Equal ones that come meanwhile are as good as itself.
bool Comm::Swap(const Collective& call) {
  if (!held_back_ && size_ > 1 && job_.Strikes("swap")) {
    held_back_ = call;
    job_.Tell(this, "", "call");  // it may never come to the other one
    return true;
  }
  if (!held_back_ || *held_back_ == call) return false;
  job_.Tell(this, call.name(), "call");
  Make(call);
  Make(*std::exchange(held_back_, std::nullopt));
  return true;
}

[[gnu::noinline]] void Comm::Extra() { Make({Collective::kAllReduce, 3}); }

Collective Comm::Other(const Collective& call) const {
  Collective other = call;
  other.kind = call.kind == Collective::kAllReduce ? Collective::kAllGather : Collective::kAllReduce;
  return other;
}

void Comm::Make(const Collective& call) {
  double *out = out_.get(), *in = in_.get();
  switch (call.kind) {
    case Collective::kBarrier: MPI_Barrier(handle_); break;
    case Collective::kBcast: MPI_Bcast(out, call.count, call.type, call.root, handle_); break;
    case Collective::kReduce: MPI_Reduce(out, in, call.count, call.type, call.op, call.root, handle_); break;
    case Collective::kAllReduce: MPI_Allreduce(out, in, call.count, call.type, call.op, handle_); break;
    case Collective::kGather:
      MPI_Gather(out, call.count, call.type, in, call.count, call.type, call.root, handle_);
      break;
    case Collective::kAllGather: MPI_Allgather(out, call.count, call.type, in, call.count, call.type, handle_); break;
    case Collective::kAllToAll: MPI_Alltoall(out, call.count, call.type, in, call.count, call.type, handle_); break;
  }
  ++next_seq_;
}

namespace {

std::vector<int> Displacements(const std::vector<int>& counts) {
  std::vector<int> displacements(counts.size(), 0);
  for (size_t i = 1; i < counts.size(); ++i) displacements[i] = displacements[i - 1] + counts[i - 1];
  return displacements;
}

}  // namespace

void Comm::AllToAllV(const std::vector<int>& sent, const std::vector<int>& received) {
  if (GoesWrong("skip", true, "", "call")) return;
  std::vector<int> to = Displacements(sent), from = Displacements(received);
  MPI_Alltoallv(out_.get(), sent.data(), to.data(), MPI_DOUBLE, in_.get(), received.data(), from.data(), MPI_DOUBLE,
                handle_);
  ++next_seq_;
}

void Comm::AllGatherV(const std::vector<int>& counts) {
  std::vector<int> from = Displacements(counts);
  MPI_Allgatherv(out_.get(), counts[rank_], MPI_DOUBLE, in_.get(), counts.data(), from.data(), MPI_DOUBLE, handle_);
  ++next_seq_;
}

void Comm::Send(int count, int peer, int tag) {
  if (job_.Breaks("no_send")) return job_.Tell(nullptr, "MPI_Send", "partner", peer);
  if (job_.Breaks("wrong_tag")) job_.Tell(nullptr, "MPI_Send", "tag", peer), tag += 500;
  MPI_Send(out_.get(), count, MPI_DOUBLE, peer, tag, handle_);
}

void Comm::Recv(int count, int peer, int tag) {
  if (job_.Breaks("no_receive")) return job_.Tell(nullptr, "MPI_Recv", "partner", peer);
  MPI_Recv(in_.get(), count, MPI_DOUBLE, peer, tag, handle_, MPI_STATUS_IGNORE);
}

void Comm::Isend(int count, int peer, int tag, std::vector<MPI_Request>* requests) {
  if (job_.Breaks("no_send")) return job_.Tell(nullptr, "MPI_Isend", "partner", peer);
  if (job_.Breaks("wrong_tag")) job_.Tell(nullptr, "MPI_Isend", "tag", peer), tag += 500;
  if (size_ > 2 && job_.Breaks("wrong_peer"))
    job_.Tell(nullptr, "MPI_Isend", "peer", peer), peer = (rank_ + size_ / 2) % size_;
  requests->emplace_back();
  MPI_Isend(out_.get(), count, MPI_DOUBLE, peer, tag, handle_, &requests->back());
}

void Comm::Irecv(int count, int peer, int tag, std::vector<MPI_Request>* requests) {
  if (job_.Breaks("no_receive")) return job_.Tell(nullptr, "MPI_Irecv", "partner", peer);
  requests->emplace_back();
  MPI_Irecv(in_.get(), count, MPI_DOUBLE, peer, tag, handle_, &requests->back());
}

void Comm::WaitAll(std::vector<MPI_Request>* requests) {
  MPI_Waitall(static_cast<int>(requests->size()), requests->data(), MPI_STATUSES_IGNORE);
  requests->clear();
}

MPI_Comm Comm::Split(int color, int key) {
  MPI_Comm part;
  MPI_Comm_split(handle_, color, key, &part);
  ++next_seq_;
  return part;
}
