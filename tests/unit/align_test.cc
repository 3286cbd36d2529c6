// Made-up jobs over hosts whose clocks are wrong: all times onto one axis, and no order against causality.
#include "analyzer/align/align.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/align/causal_order.h"
#include "analyzer/align/timeline.h"
#include "analyzer/verdict/diagnose.h"
#include "tests/unit/made_clocks.h"

namespace ddbg::analyzer {
namespace {

using test::MadeClock;
using test::MadeDelays;

constexpr double kSecond = 1e9;

class MadeJob {
 public:
  MadeJob(std::vector<MadeClock> clocks, int ranks_per_host, uint64_t seed)
      : clocks_(std::move(clocks)), per_host_(ranks_per_host), delays_(seed) {
    size_t ranks = clocks_.size() * static_cast<size_t>(per_host_);
    for (size_t rank = 0; rank < ranks; ++rank) {
      Process process;
      process.mpi_rank = static_cast<int32_t>(rank);
      process.mpi_size = static_cast<int32_t>(ranks);
      process.host = "host" + std::to_string(HostOf(rank));
      process.boot_id = "boot" + std::to_string(HostOf(rank));
      process.lost.assign(kLossCauses, 0);
      Communicator world;
      world.id = 1, world.uid = 7, world.kind = "world", world.name = "MPI_COMM_WORLD";
      world.size = static_cast<uint32_t>(ranks), world.rank = process.mpi_rank;
      process.comms[1] = world;
      process.dtypes[5] = {"MPI_DOUBLE", 8, "MPI_DOUBLE", 1, 0};
      run.processes.push_back(process);
    }
    clock_.assign(ranks, 0);
  }

  analyzer::Run run;

  size_t HostOf(size_t rank) const { return rank / static_cast<size_t>(per_host_); }
  const MadeClock& ClockOf(size_t rank) const { return clocks_[HostOf(rank)]; }
  MadeDelays& delays() { return delays_; }
  void PassTime(double ns) {
    for (double& at : clock_) at += ns;
  }

  // Everybody works for some time of its own, then all meet.
  void Collective(MpiCall function, double spread_ns) {
    double last = 0;
    std::vector<double> entered(clock_.size());
    for (size_t rank = 0; rank < clock_.size(); ++rank) {
      entered[rank] = clock_[rank] + delays_.Uniform(0, spread_ns);
      last = std::max(last, entered[rank]);
    }
    for (size_t rank = 0; rank < clock_.size(); ++rank) {
      double left = last + delays_.Latency(rank % 3 == 0 ? 4000 : 9000);
      Call call = Made(rank, function, entered[rank], left);
      call.seq = seq_, call.comm = 1, call.count = 1, call.dtype = 5, call.op = kOpSum;
      Add(rank, call);
      clock_[rank] = left;
    }
    ++seq_;
  }

  // From one rank to another, which may already wait.
  void Message(size_t from, size_t to, double floor_ns = 4000) {
    double sent = clock_[from] + 1000, posted = clock_[to] + 1000;
    double got = std::max(posted + 500, sent + delays_.Latency(floor_ns));
    Call send = Made(from, MpiCall::Send, sent, sent + 800), receive = Made(to, MpiCall::Recv, posted, got);
    send.comm = receive.comm = 1, send.count = receive.count = 1, send.dtype = receive.dtype = 5;
    send.peer = static_cast<int32_t>(to), receive.peer = static_cast<int32_t>(from);
    Add(from, send);
    Add(to, receive);
    clock_[from] = sent + 800, clock_[to] = got;
  }

  // By how much the times of two ranks are wrong against each other, and by how much they may be.
  std::pair<double, int64_t> Error(const Timeline& timeline, size_t a, size_t b, double true_ns) const {
    int64_t at_a = timeline.At(a, ClockOf(a).At(true_ns)), at_b = timeline.At(b, ClockOf(b).At(true_ns));
    return {std::fabs(static_cast<double>(at_a - at_b)), timeline.ErrorNs(a, b, at_a)};
  }

  double end() const { return *std::max_element(clock_.begin(), clock_.end()); }

 private:
  Call Made(size_t rank, MpiCall function, double from, double to) const {
    Call call;
    call.call = CallId(function);
    call.start_ns = ClockOf(rank).At(from);
    call.duration_ns = ClockOf(rank).At(to) - call.start_ns;
    return call;
  }

  void Add(size_t rank, const Call& call) {
    Process& process = run.processes[rank];
    process.calls.push_back(call);
    process.last_seen_ns = call.start_ns + call.duration_ns;
    if (process.calls.size() == 1) process.start_monotonic_ns = call.start_ns;
  }

  std::vector<MadeClock> clocks_;
  int per_host_;
  MadeDelays delays_;
  std::vector<double> clock_;  // where each rank is, in true time
  uint32_t seq_ = 0;
};

size_t Contradictions(const analyzer::Run& run, const Timeline& timeline) {
  Matching matching = MatchCollectives(run);
  Messages messages = MatchMessages(run);
  const Alignment& alignment = timeline.alignment();
  Causality causality(run, matching, messages, alignment.host_of, alignment.axes.size());
  return CountContradictions(causality, alignment.axes);
}

std::vector<MadeClock> SomeClocks(size_t hosts, uint64_t seed) {
  MadeDelays delays(seed + 1000);
  std::vector<MadeClock> clocks(hosts);
  for (MadeClock& clock : clocks) clock = {delays.Uniform(1e3, 2e4) * kSecond, delays.Uniform(-50, 50)};
  return clocks;
}

TEST(Align, OneHostIsLeftAsItIs) {
  MadeJob job(SomeClocks(1, 1), 4, 1);
  for (int i = 0; i < 10; ++i) job.Collective(MpiCall::Barrier, 1e6);
  Timeline timeline(job.run);
  EXPECT_EQ(timeline.ErrorNs(0, 3, 0), 0);
  EXPECT_EQ(
      timeline.At(0, job.run.processes[0].calls[5].start_ns) - timeline.At(3, job.run.processes[3].calls[5].start_ns),
      job.run.processes[0].calls[5].start_ns - job.run.processes[3].calls[5].start_ns);
}

TEST(Align, ManyHostsAreWithin20MicrosecondsAndInOrder) {
  std::vector<double> errors;
  size_t covered = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    MadeJob job(SomeClocks(8, seed), 2, seed);
    for (int i = 0; i < 300; ++i) job.Collective(i % 3 ? MpiCall::Allreduce : MpiCall::Barrier, 20e6);
    Timeline timeline(job.run);
    EXPECT_EQ(Contradictions(job.run, timeline), 0u) << seed;
    EXPECT_EQ(timeline.alignment().steps.size(), 0u);
    for (size_t a = 0; a < 16; a += 3)
      for (size_t b = a + 2; b < 16; b += 3)
        for (double part : {0.02, 0.5, 0.98}) {
          auto [error, bound] = job.Error(timeline, a, b, part * job.end());
          errors.push_back(error);
          covered += error <= static_cast<double>(bound);
        }
  }
  std::sort(errors.begin(), errors.end());
  EXPECT_LE(errors[errors.size() * 99 / 100], 20'000);
  EXPECT_GE(static_cast<double>(covered), 0.99 * static_cast<double>(errors.size()));
}

TEST(Align, HostsInAChainAreTiedOverEachOther) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    MadeJob job(SomeClocks(3, seed), 1, seed);
    for (int i = 0; i < 1000; ++i) {
      job.PassTime(5e6);
      job.Message(0, 1), job.Message(1, 0);
      job.Message(1, 2), job.Message(2, 1);
    }
    Timeline timeline(job.run);
    EXPECT_EQ(Contradictions(job.run, timeline), 0u) << seed;
    for (double part : {0.02, 0.5, 0.98}) {
      auto [near, near_bound] = job.Error(timeline, 0, 1, part * job.end());
      auto [far, far_bound] = job.Error(timeline, 0, 2, part * job.end());
      EXPECT_LE(near, 20'000);
      EXPECT_LE(far, 40'000);
      EXPECT_LE(near, static_cast<double>(near_bound));
      EXPECT_LE(far, static_cast<double>(far_bound));
      EXPECT_GE(far_bound, near_bound);
    }
  }
}

// The ways to the first host are fast in one direction only, so that each tie is off by half the difference, one to the
// one side and one to the other; that is more than the other two leave each other.
TEST(Align, TwoHostsTiedOverAThirdKeepTheirOrder) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    MadeJob job(SomeClocks(3, seed), 1, seed);
    for (int i = 0; i < 300; ++i) {
      job.PassTime(5e6);
      job.Message(0, 1, 90'000), job.Message(1, 0, 2000);
      job.Message(2, 0, 90'000), job.Message(0, 2, 2000);
      job.Message(1, 2, 12'000), job.Message(2, 1, 12'000);
    }
    Timeline timeline(job.run);
    EXPECT_EQ(Contradictions(job.run, timeline), 0u) << seed;
  }
}

TEST(Align, WithoutAWordBetweenThemOnlyWallClocksAreLeft) {
  MadeJob job(SomeClocks(2, 1), 1, 1);
  job.run.processes[0].start_realtime_ns = 1'000'000'000'000'000;
  job.run.processes[1].start_realtime_ns = 1'000'000'250'000'000;
  for (Process& process : job.run.processes) process.start_monotonic_ns = process.last_seen_ns = 5'000'000'000;
  Timeline timeline(job.run);
  EXPECT_EQ(timeline.ErrorNs(0, 1, 0), kUnknownError);
  EXPECT_EQ(timeline.ErrorNs(0, 0, 0), 0);
  EXPECT_EQ(timeline.At(1, 5'000'000'000) - timeline.At(0, 5'000'000'000), 250'000'000);
}

TEST(Align, AClockThatLeapsIsFoundAndTheVerdictSaysSo) {
  std::vector<MadeClock> clocks = SomeClocks(3, 5);
  clocks[2].step_at_ns = 5.001 * kSecond, clocks[2].step_ns = 2 * kSecond;
  MadeJob job(clocks, 2, 5);
  for (int i = 0; i < 500; ++i) job.Collective(MpiCall::Barrier, 20e6);
  Timeline timeline(job.run);
  ASSERT_EQ(timeline.alignment().steps.size(), 1u);
  const ClockStep& step = timeline.alignment().steps[0];
  EXPECT_EQ(step.host, 2u);
  EXPECT_NEAR(static_cast<double>(step.lost_ns), -2e9, 1e6);
  EXPECT_EQ(Contradictions(job.run, timeline), 0u);
  Diagnosis diagnosis = DiagnoseRun(job.run);
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  EXPECT_EQ(diagnosis.findings[0].kind, "clock_step");
  EXPECT_EQ(diagnosis.findings[0].culprit_ranks, (std::vector<int32_t>{4, 5}));
}

TEST(Align, TheReferenceIsBlamedWhenAllOthersPartFromIt) {
  std::vector<MadeClock> clocks = SomeClocks(4, 6);
  clocks[0].step_at_ns = 5.001 * kSecond, clocks[0].step_ns = 2 * kSecond;
  MadeJob job(clocks, 1, 6);
  for (int i = 0; i < 500; ++i) job.Collective(MpiCall::Barrier, 20e6);
  Timeline timeline(job.run);
  ASSERT_EQ(timeline.alignment().steps.size(), 1u);
  EXPECT_EQ(timeline.alignment().steps[0].host, 0u);
  EXPECT_NEAR(static_cast<double>(timeline.alignment().steps[0].lost_ns), -2e9, 1e6);
  EXPECT_EQ(Contradictions(job.run, timeline), 0u);
}

// The ranks' work is random, of which a diagnosis may speak.
TEST(Align, RightClocksThatWereSetFarApartBlameNobody) {
  MadeJob job(SomeClocks(3, 7), 2, 7);
  for (int i = 0; i < 500; ++i) job.Collective(MpiCall::Allreduce, 20e6);
  Diagnosis diagnosis = DiagnoseRun(job.run);
  for (const Finding& finding : diagnosis.findings) {
    EXPECT_NE(finding.kind, "clock_step") << finding.summary;
    EXPECT_TRUE(finding.culprit_ranks.empty()) << finding.summary;
  }
}

size_t Said(const Diagnosis& diagnosis, const std::string& part) {
  return static_cast<size_t>(std::count_if(diagnosis.caveats.begin(), diagnosis.caveats.end(),
                                           [&](const std::string& c) { return c.find(part) != std::string::npos; }));
}

TEST(Align, WhatContradictsItselfIsCountedAndSaid) {
  MadeJob job(SomeClocks(2, 9), 1, 9);
  for (int i = 0; i < 300; ++i) job.PassTime(5e6), job.Message(0, 1), job.Message(1, 0);
  EXPECT_EQ(Said(DiagnoseRun(job.run), "contradicts itself"), 0u);
  // One message that was there a second before it was sent.
  Call& receive = job.run.processes[1].calls[300];
  ASSERT_EQ(receive.call, CallId(MpiCall::Recv));
  receive.start_ns -= 1'000'000'000;
  Timeline timeline(job.run);
  EXPECT_GE(timeline.alignment().contradictions, 1u);
  EXPECT_EQ(Said(DiagnoseRun(job.run), "contradicts itself"), 1u);
}

// Of one step: of a wall clock that was set, as the collectors' telemetry and their readings with the calls have it.
TEST(Align, AWallClockThatWasSetIsSaidOnceAndIsNoFault) {
  for (bool telemetry : {true, false}) {
    MadeJob job({MadeClock{}}, 2, 10);
    for (int i = 0; i < 500; ++i) job.Collective(MpiCall::Allreduce, 20e6);
    for (Process& process : job.run.processes)
      process.wall = {{0, 1'000'000'000'000}, {10'000'000'000, 1'013'000'000'000}, {12'000'000'000, 1'015'000'000'000}};
    if (telemetry) job.run.nodes.push_back({"host0", {}, {}, {}, {}, {{4'000'000'000, 3'000'000'000, 0}}});
    for (Process& process : job.run.processes)
      process.end.how = ProcessEnd::kExited, process.end.t_ns = process.last_seen_ns;
    Diagnosis diagnosis = DiagnoseRun(job.run);
    for (const Finding& finding : diagnosis.findings) EXPECT_NE(finding.kind, "clock_step") << finding.summary;
    EXPECT_EQ(Said(diagnosis, "the wall clock of host0 was set ahead by 3.000 s"), 1u) << telemetry;
    EXPECT_EQ(Said(diagnosis, telemetry ? ", 3.0 to 4.0 s after" : " to 10.0 s after"), 1u) << telemetry;
  }
}

// Telemetry and readings saw the wall clock, and messages the monotonic one.
TEST(Align, AMachineThatSleptIsOneFinding) {
  std::vector<MadeClock> clocks = SomeClocks(3, 5);
  clocks[2].step_at_ns = 5.001 * kSecond, clocks[2].step_ns = -2 * kSecond;
  MadeJob job(clocks, 2, 5);
  for (int i = 0; i < 500; ++i) job.Collective(MpiCall::Barrier, 20e6);
  int64_t wake = clocks[2].At(5.5 * kSecond);
  job.run.nodes.push_back({"host2", {}, {}, {}, {}, {{wake, 2'000'000'000, 2'000'000'000}}});
  for (size_t rank : {4, 5})
    job.run.processes[rank].wall = {
        {clocks[2].At(0), 1'000'000'000'000},
        {clocks[2].At(8 * kSecond), 1'000'000'000'000 + clocks[2].At(8 * kSecond) - clocks[2].At(0) + 2'000'000'000}};
  Diagnosis diagnosis = DiagnoseRun(job.run);
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  EXPECT_EQ(diagnosis.findings[0].kind, "clock_step");
  EXPECT_EQ(diagnosis.findings[0].culprit_ranks, (std::vector<int32_t>{4, 5}));
  EXPECT_EQ(Said(diagnosis, "wall clock"), 0u);
}

// Nothing but slow lines ties the last host to the others, so that its clock is known to as much only as they are slow.
TEST(Align, ASlowLinkIsFoundHoweverWrongTheClocksAre) {
  for (auto [there_ns, back_ns] : {std::pair(25e6, 25e6), {10e6, 40e6}, {4000.0, 4000.0}}) {
    MadeJob job(SomeClocks(4, 11), 1, 11);
    for (int i = 0; i < 60; ++i)
      for (size_t one = 0; one < 4; ++one)
        for (size_t two = one + 1; two < 4; ++two) {
          bool slow = two == 3;
          job.PassTime(1e6);
          job.Message(one, two, slow ? there_ns : 4000), job.Message(two, one, slow ? back_ns : 4000);
        }
    Diagnosis diagnosis = DiagnoseRun(job.run);
    ASSERT_EQ(diagnosis.findings.size(), there_ns > 1e6 ? 1u : 0u) << there_ns;
    if (diagnosis.findings.empty()) continue;
    EXPECT_EQ(diagnosis.findings[0].kind, "slow_link");
    EXPECT_EQ(diagnosis.findings[0].culprit_ranks, std::vector<int32_t>{3});
  }
}

TEST(Align, ACollectiveThatNeedsNobodySaysNothing) {
  MadeJob job(SomeClocks(2, 8), 1, 8);
  job.Collective(MpiCall::Barrier, 1e6);
  // Ranks pass by a broadcast whose root comes last, if it moves nothing.
  for (Process& process : job.run.processes) {
    Call call = process.calls[0];
    call.call = CallId(MpiCall::Allreduce), call.count = 0, call.seq = 1;
    call.start_ns += 10'000'000'000 * (process.mpi_rank + 1), call.duration_ns = 1000;
    process.calls.push_back(call);
  }
  Timeline timeline(job.run);
  EXPECT_LE(job.Error(timeline, 0, 1, job.end()).first, 1e6);
  EXPECT_EQ(Contradictions(job.run, timeline), 0u);
}

}  // namespace
}  // namespace ddbg::analyzer
