// How the ranks of a made-up job lie: hosts with clocks of their own, and tensor-, pipeline- and data-parallel groups
// in Megatron's order (tensor fastest, pipeline slowest).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ddbg::synthetic {

struct Options {
  int ranks = 1024;
  double seconds = 300;
  double rate = 100;  // calls a second and rank
  uint64_t seed = 1;
  bool mpi = false;  // else NCCL
  std::string fault = "none";
  int bad_rank = -1;  // -1: one in the middle
  int bad_step = -1;  // -1: in the middle
  int ranks_per_host = 8;
  double flush_s = 0.5;
  double hang_s = 60;  // how long a job hangs before it is stopped
  bool live = false;   // no end in the files
  std::string out;
};

// True time is ns since the job began; a host's clocks count otherwise.
struct HostClock {
  std::string name, boot_id;
  int64_t monotonic_at_0 = 0, realtime_at_0 = 0;  // ns
  double drift = 0;                               // of CLOCK_MONOTONIC against true time, as a fraction

  int64_t Monotonic(int64_t t_ns) const {
    return monotonic_at_0 + t_ns + static_cast<int64_t>(static_cast<double>(t_ns) * drift);
  }
  int64_t Realtime(int64_t t_ns) const { return realtime_at_0 + t_ns; }
};

enum Comm { kWorld, kTensor, kData, kPipeline, kComms };

class Layout {
 public:
  explicit Layout(const Options& options);

  int ranks() const { return ranks_; }
  int stages() const { return pp_; }
  int StageOf(int rank) const { return rank / (tp_ * dp_); }
  int IndexIn(Comm comm, int rank) const;
  // Which group of its kind, and its ranks in order.
  int GroupOf(Comm comm, int rank) const;
  int Groups(Comm comm) const;
  std::vector<int> Members(Comm comm, int group) const;
  int SizeOf(Comm comm) const;
  // Equal for all members, different for all else.
  uint64_t Uid(Comm comm, int rank) const;
  // Rank of the same place in another stage.
  int InStage(int rank, int stage) const { return rank % (tp_ * dp_) + stage * tp_ * dp_; }

  const HostClock& HostOf(int rank) const { return hosts_[rank / ranks_per_host_]; }
  int LocalRank(int rank) const { return rank % ranks_per_host_; }

 private:
  int ranks_, tp_, pp_, dp_, ranks_per_host_;
  uint64_t seed_;
  std::vector<HostClock> hosts_;
};

}  // namespace ddbg::synthetic
