#include "tests/synthetic/layout.h"

#include <cstdio>
#include <random>

namespace ddbg::synthetic {

Layout::Layout(const Options& options)
    : ranks_(options.ranks), tp_(1), pp_(1), ranks_per_host_(options.ranks_per_host), seed_(options.seed) {
  while (tp_ < 8 && ranks_ % (tp_ * 2) == 0 && tp_ * 2 <= ranks_) tp_ *= 2;
  while (pp_ < 4 && ranks_ % (tp_ * pp_ * 2) == 0 && tp_ * pp_ * 2 < ranks_) pp_ *= 2;
  dp_ = ranks_ / (tp_ * pp_);
  std::mt19937_64 random(options.seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int first = 0; first < ranks_; first += ranks_per_host_) {
    HostClock host;
    char text[64];
    snprintf(text, sizeof(text), "gpu-%04d", first / ranks_per_host_);
    host.name = text;
    snprintf(text, sizeof(text), "%08x-0000-4000-8000-%012d", static_cast<unsigned>(random()), first);
    host.boot_id = text;
    host.monotonic_at_0 = static_cast<int64_t>((50 + 49 * unit(random)) * 86400e9);  // days since boot
    host.realtime_at_0 = 1'790'000'000'000'000'000 + static_cast<int64_t>(unit(random) * 5e6);
    host.drift = unit(random) * 20e-6;
    hosts_.push_back(host);
  }
}

int Layout::IndexIn(Comm comm, int rank) const {
  switch (comm) {
    case kTensor: return rank % tp_;
    case kData: return rank / tp_ % dp_;
    case kPipeline: return StageOf(rank);
    default: return rank;
  }
}

int Layout::GroupOf(Comm comm, int rank) const {
  switch (comm) {
    case kTensor: return rank / tp_;
    case kData: return StageOf(rank) * tp_ + rank % tp_;
    case kPipeline: return rank % (tp_ * dp_);
    default: return 0;
  }
}

int Layout::Groups(Comm comm) const { return ranks_ / SizeOf(comm); }

int Layout::SizeOf(Comm comm) const {
  switch (comm) {
    case kTensor: return tp_;
    case kData: return dp_;
    case kPipeline: return pp_;
    default: return ranks_;
  }
}

std::vector<int> Layout::Members(Comm comm, int group) const {
  std::vector<int> members;
  for (int i = 0; i < SizeOf(comm); ++i) {
    switch (comm) {
      case kTensor: members.push_back(group * tp_ + i); break;
      case kData: members.push_back(group / tp_ * tp_ * dp_ + i * tp_ + group % tp_); break;
      case kPipeline: members.push_back(i * tp_ * dp_ + group); break;
      default: members.push_back(i);
    }
  }
  return members;
}

uint64_t Layout::Uid(Comm comm, int rank) const {
  uint64_t x =
      seed_ * 1'000'003 + static_cast<uint64_t>(comm) * 100'000 + static_cast<uint64_t>(GroupOf(comm, rank)) + 1;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;  // splitmix64
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return (x ^ (x >> 31)) | 1;
}

}  // namespace ddbg::synthetic
