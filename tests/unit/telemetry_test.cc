// Samples in the model and what is concluded from them.
#include "analyzer/load/telemetry.h"

#include <gtest/gtest.h>

namespace ddbg::analyzer {
namespace {

constexpr int64_t kS = 1'000'000'000;

proto::Samples SomeSamples(std::vector<int64_t> seconds, Metric metric, std::vector<int64_t> values) {
  proto::Samples samples;
  for (size_t i = 0; i < seconds.size(); ++i) samples.add_t_ms((seconds[i] - (i ? seconds[i - 1] : 0)) * 1000);
  proto::MetricColumn* column = samples.add_column();
  column->set_metric(static_cast<uint32_t>(metric));
  for (size_t i = 0; i < values.size(); ++i) column->add_delta(values[i] - (i ? values[i - 1] : 0));
  return samples;
}

TEST(Telemetry, EntriesThatAreNotLaterAreDropped) {
  SampleSeries series;
  EXPECT_TRUE(AddSamples(SomeSamples({1, 2, 3}, Metric::kUserMs, {10, 20, 30}), &series));
  EXPECT_TRUE(AddSamples(SomeSamples({2, 3, 4}, Metric::kUserMs, {20, 30, 40}), &series));
  EXPECT_EQ(series.t_ns, (std::vector<int64_t>{1 * kS, 2 * kS, 3 * kS, 4 * kS}));
  EXPECT_EQ(*series.Of(Metric::kUserMs), (std::vector<int64_t>{10, 20, 30, 40}));
}

TEST(Telemetry, MetricsThatNobodyKnowsArePassedOver) {
  SampleSeries series;
  proto::Samples samples = SomeSamples({1}, Metric::kUserMs, {10});
  samples.add_column()->set_metric(60'000);
  EXPECT_TRUE(AddSamples(samples, &series));
  EXPECT_EQ(series.columns.size(), 1u);
}

TEST(Telemetry, TimesThatMakeNoSenseAreMalformed) {
  SampleSeries series;
  proto::Samples back = SomeSamples({3, 1}, Metric::kUserMs, {1});
  EXPECT_FALSE(AddSamples(back, &series));
  proto::Samples far;
  far.add_t_ms(INT64_MAX);
  EXPECT_FALSE(AddSamples(far, &series));
  proto::Samples many;
  for (int i = 0; i < 5000; ++i) many.add_t_ms(1);
  EXPECT_FALSE(AddSamples(many, &series));
  EXPECT_TRUE(series.empty());
}

TEST(Telemetry, OfALongRunCountersAndStopsStay) {
  SampleSeries series;
  for (int64_t s = 1; s <= 20'000; s += 10) {
    std::vector<int64_t> seconds, values;
    for (int64_t k = s; k < s + 10; ++k) seconds.push_back(k), values.push_back(k * 7);
    AddSamples(SomeSamples(seconds, Metric::kUserMs, values), &series);
  }
  EXPECT_LE(series.t_ns.size(), 2048u);
  EXPECT_EQ(series.t_ns.size(), series.Of(Metric::kUserMs)->size());
  EXPECT_EQ(Growth(series, Metric::kUserMs, 0, 20'000 * kS), 20'000 * 7 - 7);
  EXPECT_EQ(Growth(series, Metric::kUserMs, 19'000 * kS, 20'000 * kS), 7000);
}

TEST(Telemetry, CountersThatFallGoOnFromThere) {
  SampleSeries series;
  AddSamples(SomeSamples({1, 2, 3, 4}, Metric::kRunUs, {100, 150, 20, 60}), &series);
  EXPECT_EQ(Growth(series, Metric::kRunUs, 1 * kS, 4 * kS), 90);
  EXPECT_EQ(Growth(series, Metric::kWaitUs, 1 * kS, 4 * kS), std::nullopt);
  EXPECT_EQ(Growth(series, Metric::kRunUs, -5 * kS, 0), std::nullopt);
}

TEST(Telemetry, StopsAreRowsOfEntries) {
  Process process;
  AddSamples(SomeSamples({1, 2, 3, 4, 5, 6}, Metric::kState, {'R', 'T', 'T', 'S', 't', 't'}), &process.samples);
  std::vector<StateInterval> stops = StopsOf({}, process);
  ASSERT_EQ(stops.size(), 2u);
  EXPECT_EQ(stops[0].before_ns, 1 * kS);
  EXPECT_EQ(stops[0].from_ns, 2 * kS);
  EXPECT_EQ(stops[0].to_ns, 3 * kS);
  EXPECT_TRUE(stops[0].over);
  EXPECT_EQ(stops[1].state, 't');
  EXPECT_FALSE(stops[1].over);
}

// Version 1 shows frozen tasks in state D, which is no disk then.
TEST(Telemetry, FrozenCgroupsAreNoDiskSleep) {
  analyzer::Run run;
  run.nodes.emplace_back().host = "n";
  Process process;
  process.host = "n";
  process.cgroups = {"freezer:/a"};
  AddSamples(SomeSamples({1, 2, 3, 4}, Metric::kState, {'R', 'D', 'D', 'R'}), &process.samples);
  EXPECT_EQ(DiskSleepsOf(run, process).size(), 1u);
  EXPECT_EQ(DiskSleepNs(run, process, 0, 10 * kS), 2 * kS);
  AddSamples(SomeSamples({1, 2, 3, 4}, Metric::kFrozen, {0, 1, 1, 0}), &run.nodes[0].cgroups["freezer:/a"]);
  EXPECT_EQ(DiskSleepsOf(run, process).size(), 0u);
  ASSERT_EQ(StopsOf(run, process).size(), 1u);
  EXPECT_EQ(StopsOf(run, process)[0].state, 'F');
}

TEST(Telemetry, OomKillsOfTheProcessesOwnCgroupGoBeforeTheNodes) {
  analyzer::Run run;
  NodeTelemetry& node = run.nodes.emplace_back();
  node.host = "n";
  Process process;
  process.host = "n";
  process.cgroups = {"memory:/job/1", "memory:/job"};
  AddSamples(SomeSamples({1, 2, 3}, Metric::kNodeOomKills, {5, 5, 6}), &node.system);
  OomKills unknown = OomKillsOf(run, process, 2 * kS, 3 * kS);
  EXPECT_FALSE(unknown.in_cgroup);
  EXPECT_EQ(unknown.on_node, 1);
  AddSamples(SomeSamples({1, 2, 3}, Metric::kCgroupOomKills, {0, 0, 0}), &node.cgroups["memory:/job/1"]);
  AddSamples(SomeSamples({1, 2, 3}, Metric::kMemoryLimitKb, {100, 100, 100}), &node.cgroups["memory:/job"]);
  OomKills kills = OomKillsOf(run, process, 2 * kS, 3 * kS);
  EXPECT_EQ(kills.in_cgroup, 0);
  EXPECT_EQ(kills.cgroup, "memory:/job/1");
  EXPECT_EQ(kills.limit_kb, 100);
  EXPECT_EQ(CgroupPath(kills.cgroup), "/job/1");
  EXPECT_EQ(CgroupPath("/job:1"), "/job:1");
}

TEST(Telemetry, ANodesFileIsReadAtAnyTruncatedLength) {
  proto::Chunk chunk;
  chunk.add_packet()->mutable_process()->set_host("n");
  proto::Samples* samples = chunk.add_packet()->mutable_samples();
  *samples = SomeSamples({1, 2}, Metric::kCpuUserMs, {1, 2});
  samples->set_subject(proto::Samples::SYSTEM);
  proto::ClockStep* step = chunk.add_packet()->mutable_clock_step();
  step->set_t_ns(3 * kS);
  step->set_step_ns(kS);
  std::string bytes = chunk.SerializeAsString();
  for (size_t size = 0; size <= bytes.size(); ++size) {
    NodeTelemetry node;
    NodeLoader().Add(std::string_view(bytes).substr(0, size), &node);
    if (size == bytes.size()) {
      EXPECT_EQ(node.host, "n");
      EXPECT_EQ(node.system.t_ns.size(), 2u);
      EXPECT_EQ(node.clock_steps.size(), 1u);
    }
  }
}

}  // namespace
}  // namespace ddbg::analyzer
