#include "tests/synthetic/job.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "proto/call.h"

namespace ddbg::synthetic {
namespace {

constexpr int kMicrobatches = 2, kBuckets = 4, kLaunches = 2;
constexpr uint64_t kActivation = 4 << 20, kBucket = 6'250'000;
constexpr int64_t kIssueNs = 9'000, kTransferNs = 60'000, kReduceNs = 120'000;

// Calls of a rank in the middle of the pipeline in one step.
double CallsOfStep(bool mpi, int stages) {
  int passes = 2 * kMicrobatches;
  double transfers = stages == 1 ? 0 : 2.0 * (stages - 1) / stages;
  double calls = passes * (transfers * (mpi ? 1.5 : 1) + 2) + kBuckets + 1;
  return mpi ? calls : calls + passes * 2 * kLaunches + 4;
}

std::string FileOf(const std::string& dir, int rank) {
  char name[32];
  snprintf(name, sizeof(name), "/rank-%05d.ddbg", rank);
  return dir + name;
}

}  // namespace

Job::Job(const Options& options, const std::string& dir)
    : options_(options), layout_(options), random_(options.seed + 1), ranks_(options.ranks) {
  double calls = CallsOfStep(options.mpi, layout_.stages());
  steps_ = std::max(1, static_cast<int>(std::lround(options.seconds * options.rate / calls)));
  double critical = 2.0 * 2 * (kMicrobatches + layout_.stages() - 1);
  segment_ns_ = 0.93 * calls / options.rate * 1e9 / critical;
  bad_rank_ = options.bad_rank >= 0 ? options.bad_rank : options.ranks / 2 + options.ranks / 16;
  bad_step_ = options.fault == "none" ? -1 : options.bad_step >= 0 ? options.bad_step : steps_ / 2;
  for (int rank = 0; rank < options.ranks; ++rank)
    ranks_[rank].file = std::make_unique<RankFile>(FileOf(dir, rank), IdentityOf(options, layout_, rank));
}

int64_t Job::Some(double mean_ns) {
  std::uniform_real_distribution<double> spread(0.95, 1.05);
  return static_cast<int64_t>(mean_ns * spread(random_));
}

Record Job::Make(int rank, uint16_t call, Site site) const {
  Record record = {};
  record.call = call;
  record.start = static_cast<uint64_t>(ranks_[rank].host_ns);
  record.peer = kNoPeer;
  record.stack = static_cast<uint32_t>(site) + 1;
  return record;
}

Record Job::MakeOnComm(int rank, uint16_t call, Site site, Comm comm, uint64_t count) {
  Record record = Make(rank, call, site);
  record.comm = static_cast<uint32_t>(comm) + 1;
  record.count = count;
  record.dtype = kType;
  CallKind kind = kCalls[call - kFirstCall].kind;
  if (IsCollective(kind)) record.seq = ranks_[rank].seq[comm]++;
  if (kind == CallKind::Collective) record.op = kOpSum;
  return record;
}

void Job::Put(int rank, Record record, int64_t end_ns) {
  Rank& r = ranks_[rank];
  const HostClock& clock = layout_.HostOf(rank);
  int64_t start = clock.Monotonic(static_cast<int64_t>(record.start)), end = clock.Monotonic(end_ns);
  record.start = static_cast<uint64_t>(start);
  record.duration = static_cast<uint64_t>(std::max<int64_t>(0, end - start));
  r.file->Add(record);
  r.host_ns = std::max(r.host_ns, end_ns) + 500;
  r.file->FlushAt(end, static_cast<int64_t>(options_.flush_s * 1e9));
}

void Job::PutOnStream(int rank, Record record, int stream) {
  record.tag = stream;
  record.aux = ++ranks_[rank].operations;
  Put(rank, record, ranks_[rank].host_ns + Some(kIssueNs));
}

void Job::Stick(int rank, Record record) {
  Rank& r = ranks_[rank];
  r.host_stuck = r.has_open = true;
  r.open = record;
}

void Job::Launch(int rank, Site site) {
  for (int i = 0; i < kLaunches; ++i) {
    Record record = Make(rank, CallId(CudaCall::cudaLaunchKernel), site);
    record.count = 1056;
    record.peer = 256;
    record.dtype = static_cast<uint32_t>(i) + 1;
    record.tag = kComputeStream;
    Put(rank, record, ranks_[rank].host_ns + Some(4'000));
  }
}

// Computing before a collective.
void Job::Work(int rank, Site site) {
  if (!Comes(rank)) return;
  Rank& r = ranks_[rank];
  if (options_.mpi) return static_cast<void>(r.host_ns += Some(segment_ns_));
  Launch(rank, site);
  r.device_ns = std::max(r.device_ns, r.host_ns) + Some(segment_ns_);
}

void Job::Reduce(Comm comm, int group, Site site, uint64_t count) {
  if (layout_.SizeOf(comm) < 2) return;
  std::vector<int> members = layout_.Members(comm, group);
  bool complete = true;
  int64_t last = 0;
  uint16_t call = options_.mpi ? CallId(MpiCall::Allreduce) : CallId(NcclCall::ncclAllReduce);
  std::vector<Record> records(members.size());
  std::vector<bool> came(members.size());
  bool bad_bucket = IsBadStep() && site == kAtBucket && count == kBucket + 1;
  for (size_t i = 0; i < members.size(); ++i) {
    int rank = members[i];
    bool bad = bad_bucket && rank == bad_rank_;
    complete = complete && Ready(rank);
    came[i] = Comes(rank) && !(bad && options_.fault == "skip");
    complete = complete && came[i];
    if (bad && options_.fault == "skip") {
      truth_.seq = ranks_[rank].seq[comm];
      truth_.comm_uid = layout_.Uid(comm, rank);
      truth_.call = kCalls[call - kFirstCall].name;
    }
    if (!came[i]) continue;
    records[i] = MakeOnComm(rank, call, site, comm, bad && options_.fault == "count" ? count / 2 : count);
    if (bad && options_.fault == "count") Seen(records[i], comm);
    if (!options_.mpi) PutOnStream(rank, records[i], comm == kData ? kDataStream : kComputeStream);
    Rank& r = ranks_[rank];
    if (!options_.mpi) r.device_ns = std::max(r.device_ns, r.host_ns);
    last = std::max(last, options_.mpi ? r.host_ns : r.device_ns);
  }
  for (size_t i = 0; i < members.size(); ++i) {
    Rank& r = ranks_[members[i]];
    if (!came[i]) continue;
    if (!options_.mpi) {
      complete ? static_cast<void>(r.device_ns = last + kReduceNs) : static_cast<void>(r.device_stuck = true);
    } else if (complete) {
      Put(members[i], records[i], last + Some(kReduceNs));
    } else {
      Stick(members[i], records[i]);
    }
  }
}

void Job::Transfer(int sender, int receiver, bool forward) {
  Site at_send = forward ? kAtSendActivation : kAtSendGradient, at_recv = forward ? kAtRecvActivation : kAtRecvGradient;
  bool both = Ready(sender) && Ready(receiver);
  int64_t sent = options_.mpi ? ranks_[sender].host_ns : ranks_[sender].device_ns;
  for (bool sends : {true, false}) {
    int rank = sends ? sender : receiver;
    if (!Comes(rank)) continue;
    Rank& r = ranks_[rank];
    uint16_t call = options_.mpi ? CallId(sends ? MpiCall::Isend : MpiCall::Recv)
                                 : CallId(sends ? NcclCall::ncclSend : NcclCall::ncclRecv);
    Record record = MakeOnComm(rank, call, sends ? at_send : at_recv, kPipeline, kActivation);
    record.peer = layout_.IndexIn(kPipeline, sends ? receiver : sender);
    if (!options_.mpi) {
      PutOnStream(rank, record, kComputeStream);
      r.device_ns = std::max(r.device_ns, r.host_ns);
      both ? static_cast<void>(r.device_ns = std::max(r.device_ns, sent) + kTransferNs)
           : static_cast<void>(r.device_stuck = true);
      continue;
    }
    record.tag = forward ? 1 : 2;
    if (!sends) {
      both ? Put(rank, record, std::max(r.host_ns, sent) + kTransferNs) : Stick(rank, record);
      continue;
    }
    record.aux = ++r.operations;
    Put(rank, record, r.host_ns + Some(3'000));
    Record wait = Make(rank, CallId(MpiCall::Wait), at_send);
    wait.count = 1;
    wait.aux = record.aux;
    both ? Put(rank, wait, r.host_ns + kTransferNs) : Stick(rank, wait);
  }
}

void Job::Pass(bool forward) {
  int stages = layout_.stages(), per_stage = options_.ranks / stages;
  for (int i = 0; i < stages; ++i) {
    int stage = forward ? i : stages - 1 - i;
    Site site = forward ? kAtForward : kAtBackward;
    for (int half = 0; half < 2; ++half) {
      for (int k = 0; k < per_stage; ++k) Work(layout_.InStage(k, stage), site);
      int groups = std::max(1, layout_.Groups(kTensor) / stages);
      for (int g = 0; g < groups; ++g) Reduce(kTensor, stage * groups + g, site, kActivation);
    }
    int next = forward ? stage + 1 : stage - 1;
    if (next < 0 || next >= stages) continue;
    for (int k = 0; k < per_stage; ++k) Transfer(layout_.InStage(k, stage), layout_.InStage(k, next), forward);
  }
}

// Once a step the program waits for its device and reads the loss.
void Job::Sync() {
  if (options_.mpi) return;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    if (!Comes(rank)) continue;
    Rank& r = ranks_[rank];
    Record event = Make(rank, CallId(CudaCall::cudaEventRecord), kAtSync);
    event.tag = kDataStream;
    event.aux = 0xe000 + kDataStream;
    Put(rank, event, r.host_ns + Some(2'000));
    Record wait = Make(rank, CallId(CudaCall::cudaStreamWaitEvent), kAtSync);
    wait.tag = kComputeStream;
    wait.aux = event.aux;
    Put(rank, wait, r.host_ns + Some(2'000));
    Launch(rank, kAtSync);
    Record sync = Make(rank, CallId(CudaCall::cudaStreamSynchronize), kAtSync);
    sync.tag = kComputeStream;
    r.device_stuck ? Stick(rank, sync) : Put(rank, sync, std::max(r.host_ns, r.device_ns) + 5'000);
  }
}

void Job::Seen(const Record& record, Comm comm) {
  truth_.seq = record.seq;
  truth_.comm_uid = layout_.Uid(comm, bad_rank_);
  truth_.call = kCalls[record.call - kFirstCall].name;
}

// The bad rank alone makes a collective of another kind over all.
void Job::Extra() {
  uint16_t call = options_.mpi ? CallId(MpiCall::Barrier) : CallId(NcclCall::ncclAllGather);
  Record record = MakeOnComm(bad_rank_, call, kAtCheckpoint, kWorld, options_.mpi ? 0 : 16);
  if (options_.mpi) record.dtype = 0;
  record.op = 0;
  Seen(record, kWorld);
  if (options_.mpi) return Stick(bad_rank_, record);
  PutOnStream(bad_rank_, record, kComputeStream);
  ranks_[bad_rank_].device_stuck = true;
}

void Job::Kill() {
  Rank& r = ranks_[bad_rank_];
  r.dead = true;
  AddEnd(bad_rank_, proto::ProcessEnd::SIGNALED, 9, r.host_ns, options_.ranks_per_host - 1);
}

void Job::Step() {
  if (options_.fault == "straggler" && step_ >= bad_step_ && Comes(bad_rank_))
    ranks_[bad_rank_].host_ns += static_cast<int64_t>(segment_ns_ * 6);
  for (int m = 0; m < kMicrobatches; ++m) Pass(true);
  for (int m = 0; m < kMicrobatches; ++m) {
    if (m == 1 && IsBadStep() && options_.fault == "killed") Kill();
    Pass(false);
  }
  for (int bucket = 0; bucket < kBuckets; ++bucket)
    for (int group = 0; group < layout_.Groups(kData); ++group)
      Reduce(kData, group, kAtBucket, kBucket + static_cast<uint64_t>(bucket));
  if (IsBadStep() && options_.fault == "extra" && Comes(bad_rank_)) Extra();
  Reduce(kWorld, 0, kAtNorm, 1);
  Sync();
}

bool Job::AnyStuck() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.host_stuck || r.device_stuck; });
}

void Job::Init() {
  for (int rank = 0; rank < options_.ranks; ++rank) {
    Rank& r = ranks_[rank];
    RankFile& file = *r.file;
    r.host_ns = 2'000'000 + Some(30'000'000);
    file.Add(ModulesOf(options_, rank));
    for (const proto::Definition& definition : DefinitionsOf(options_, layout_, rank)) file.Define(definition);
    if (options_.mpi) {
      file.Define(CommunicatorOf(options_, layout_, rank, kWorld));
      Put(rank, Make(rank, CallId(MpiCall::Init), kAtInit), 400'000'000 + Some(2'000'000));
    } else {
      Record device = Make(rank, CallId(CudaCall::cudaSetDevice), kAtInit);
      device.peer = layout_.LocalRank(rank);
      Put(rank, device, r.host_ns + Some(50'000'000));
    }
    for (Comm comm : {kWorld, kTensor, kData, kPipeline}) {
      if (options_.mpi ? comm == kWorld : layout_.SizeOf(comm) < 2) continue;
      file.Define(CommunicatorOf(options_, layout_, rank, comm));
      int64_t end = 500'000'000 + comm * 200'000'000 + Some(1'000'000);
      if (options_.mpi) {
        Record split = MakeOnComm(rank, CallId(MpiCall::Comm_split), kAtInit, kWorld, 0);
        split.dtype = 0;
        split.aux = static_cast<uint64_t>(comm) + 1;
        Put(rank, split, end);
      } else {
        Record init = MakeOnComm(rank, CallId(NcclCall::ncclCommInitRank), kAtInit, comm,
                                 static_cast<uint64_t>(layout_.SizeOf(comm)));
        init.dtype = 0;
        init.peer = layout_.IndexIn(comm, rank);
        Put(rank, init, end);
      }
    }
    r.device_ns = r.host_ns;
    file.Flush();
  }
}

void Job::AddEnd(int rank, proto::ProcessEnd::How how, int code, int64_t t_ns, int peers_running) {
  proto::Packet packet;
  proto::ProcessEnd* end = packet.mutable_end();
  end->set_how(how);
  end->set_code(code);
  end->set_source("pidfd");
  end->set_t_ns(layout_.HostOf(rank).Monotonic(t_ns));
  if (peers_running >= 0) {
    end->set_peers(static_cast<uint32_t>(options_.ranks_per_host - 1));
    end->set_peers_running(static_cast<uint32_t>(peers_running));
  }
  ranks_[rank].file->Add(packet);
}

// A time limit ends all, a minute later.
void Job::EndHang(int64_t at_ns) {
  int64_t stop = at_ns + static_cast<int64_t>(options_.hang_s * 1e9);
  for (int rank = 0; rank < options_.ranks; ++rank) {
    Rank& r = ranks_[rank];
    if (r.has_open) {
      const HostClock& clock = layout_.HostOf(rank);
      auto start = static_cast<int64_t>(r.open.start);
      r.open.start = static_cast<uint64_t>(clock.Monotonic(start));
      uint64_t request = r.open.call == CallId(MpiCall::Wait) ? r.open.aux : 0;
      r.file->AddOpen(r.open, clock.Monotonic(start + 1'000'000'000), request);
      if (!options_.live) r.file->AddOpen(r.open, clock.Monotonic(stop), request);
    }
    if (!r.dead && !options_.live) AddEnd(rank, proto::ProcessEnd::SIGNALED, 15, stop + rank % 8 * 100'000, -1);
    r.file->Flush();
  }
}

void Job::EndWell() {
  for (int rank = 0; rank < options_.ranks; ++rank) {
    Rank& r = ranks_[rank];
    if (options_.live) {
      r.file->Flush();
      continue;
    }
    if (options_.mpi) {
      Put(rank, Make(rank, CallId(MpiCall::Finalize), kAtExit), r.host_ns + Some(3'000'000));
    } else {
      for (Comm comm : {kPipeline, kData, kTensor, kWorld}) {
        if (layout_.SizeOf(comm) < 2) continue;
        Record destroy = Make(rank, CallId(NcclCall::ncclCommDestroy), kAtExit);
        destroy.comm = static_cast<uint32_t>(comm) + 1;
        Put(rank, destroy, r.host_ns + Some(1'000'000));
      }
    }
    AddEnd(rank, proto::ProcessEnd::EXITED, 0, r.host_ns + Some(20'000'000), -1);
    r.file->Flush();
  }
}

Truth Job::Run() {
  struct Fault {
    const char *name, *kind, *failure_class;
  };
  constexpr Fault kFaults[] = {{"skip", "missing_collective", "control_flow_divergence"},
                               {"extra", "collective_mismatch", "control_flow_divergence"},
                               {"count", "argument_mismatch", "state_corruption"},
                               {"killed", "process_killed", "infrastructure_discontinuity"},
                               {"straggler", "straggler", "timing_divergence"}};
  for (const Fault& fault : kFaults)
    if (options_.fault == fault.name)
      truth_.verdict = "fault", truth_.kind = fault.kind, truth_.failure_class = fault.failure_class,
      truth_.rank = bad_rank_, truth_.step = bad_step_;
  Init();
  for (step_ = 0; step_ < steps_; ++step_) {
    Step();
    if (std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.host_stuck || r.dead; })) break;
  }
  int64_t last = 0;
  for (const Rank& r : ranks_) last = std::max(last, r.host_ns);
  AnyStuck() ? EndHang(last) : EndWell();
  for (const Rank& r : ranks_) truth_.records += r.file->records();
  truth_.steps = std::min(step_ + 1, steps_);
  truth_.seconds = static_cast<double>(last) / 1e9;
  return truth_;
}

}  // namespace ddbg::synthetic
