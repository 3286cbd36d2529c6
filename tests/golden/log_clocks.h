// The clocks of a timed log: each rank has one of its own, which only its own work moves.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/golden/log_job.h"

namespace ddbg::analyzer {

class LogClocks {
 public:
  explicit LogClocks(LogJob* job) : job_(*job) {}

  // From here on calls have these times.
  void Start() { started_ = true; }
  bool started() const { return started_; }

  void Seed(uint32_t seed) { random_.seed(seed); }
  void SetNoise(int64_t ns) { noise_ns_ = ns; }  // by which `Work` is longer on average

  // All of them, and the job's time.
  void Set(int64_t t_ns);
  void Work(int rank, int64_t ns) { Of(rank) += ns + Noise(); }
  // 5ms [random] [from=N] [every=N] [one-in=N] [grows]: `random`: evenly between none and that; from turn N of the
  // innermost `repeat` on; in each N-th turn; in one of N by chance; times the turns since `from`
  void Delay(int rank, const std::string& text);

  // Gives the calls of one line their times: a collective ends for all when the last has come, a receive when its
  // message was sent, other calls at once. `made`: which call of its process, by rank of `who`.
  void Meet(const std::vector<int>& who, const std::vector<size_t>& made);

 private:
  int64_t& Of(int rank);
  int64_t Noise();

  LogJob& job_;
  bool started_ = false;
  std::vector<int64_t> clocks_;  // by rank
  std::mt19937 random_{1};
  int64_t noise_ns_ = 0;
  std::map<std::pair<int, int>, std::deque<int64_t>> sent_;  // when, by sender and receiver
};

}  // namespace ddbg::analyzer
