// A made-up training job: GPipe over the stages, tensor-parallel all-reduces in each, buckets of gradients over the
// data-parallel groups, one norm over all ranks. Times follow from who waits for whom; a fault is planted and its
// consequences, too, follow from that. Step by step over all ranks, so memory does not grow with the length.
//
// NCCL: the host only puts work on a stream and waits at the end of the step; MPI: each call waits by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/synthetic/identity.h"
#include "tests/synthetic/layout.h"
#include "tests/synthetic/rank_file.h"

namespace ddbg::synthetic {

struct Truth {
  std::string verdict = "healthy", kind, failure_class;
  int rank = -1, step = -1;
  int64_t seq = -1;
  uint64_t comm_uid = 0;
  std::string call;
  int steps = 0;
  uint64_t records = 0;
  double seconds = 0;  // true time from the first call to the last
};

class Job {
 public:
  Job(const Options& options, const std::string& dir);

  Truth Run();

 private:
  struct Rank {
    std::unique_ptr<RankFile> file;
    int64_t host_ns = 0, device_ns = 0;  // true time: how far it has come
    bool host_stuck = false, device_stuck = false, dead = false;
    uint64_t operations = 0;
    uint32_t seq[kComms] = {};
    uint32_t sends = 0;
    Record open = {};  // if host_stuck; times are true
    bool has_open = false;
  };

  void Init();
  void Step();
  void Pass(bool forward);
  void Work(int rank, Site site);
  void Launch(int rank, Site site);
  void Reduce(Comm comm, int group, Site site, uint64_t count);
  void Transfer(int sender, int receiver, bool forward);
  void Sync();
  void Extra();
  void Kill();
  void Finish();
  void EndHang(int64_t at_ns);
  void EndWell();

  bool IsBadStep() const { return step_ == bad_step_; }
  bool Comes(int rank) const { return !ranks_[rank].dead && !ranks_[rank].host_stuck; }
  bool Ready(int rank) const { return Comes(rank) && !ranks_[rank].device_stuck; }
  bool AnyStuck() const;
  int64_t Some(double mean_ns);
  Record Make(int rank, uint16_t call, Site site) const;
  Record MakeOnComm(int rank, uint16_t call, Site site, Comm comm, uint64_t count);
  // On NCCL's host, or of a call of MPI that ended at `end_ns`.
  void Put(int rank, Record record, int64_t end_ns);
  void PutOnStream(int rank, Record record, int stream);
  void Stick(int rank, Record record);
  void AddEnd(int rank, proto::ProcessEnd::How how, int code, int64_t t_ns, int peers_running);
  void Seen(const Record& record, Comm comm);

  Options options_;
  Layout layout_;
  std::mt19937_64 random_;
  std::vector<Rank> ranks_;
  int step_ = 0, steps_, bad_rank_, bad_step_;
  double segment_ns_;  // of computing between two collectives
  Truth truth_;
};

}  // namespace ddbg::synthetic
