// What the collector reads of /proc, /sys and cgroups, on texts that real systems gave; and the packets made of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "analyzer/load/telemetry.h"
#include "collector/node/cgroup.h"
#include "collector/node/clock_steps.h"
#include "collector/node/file_systems.h"
#include "collector/node/network.h"
#include "collector/node/process_sampler.h"
#include "collector/node/process_texts.h"
#include "collector/node/sample_columns.h"
#include "collector/node/system.h"
#include "proto/ddbg.pb.h"
#include "tests/unit/wait_until.h"

namespace ddbg::collector {
namespace {

using Values = std::vector<MetricValue>;

int64_t Of(const Values& values, Metric metric, int64_t otherwise = -1) {
  for (const MetricValue& value : values)
    if (value.metric == metric) return value.value;
  return otherwise;
}

constexpr char kRest[] =
    " S 13854 13854 3736 0 -1 4194304 102 0 7 0 250 31 0 0 20 0 14 0 5483758 3133440 394 18446744073709551615 1 1 0 0 "
    "0 0 0 0 "
    "0 0 0 0 17 1 0 0 0 0 0\n";

TEST(ProcessTexts, StatIsReadBehindAnyCommandName) {
  for (const char* name : {"(python3)", "(a b) R 1 (c)", "())", "(x\nS 9)", "()"}) {
    std::optional<ProcessStat> stat = ParseProcessStat(std::string("4711 ") + name + kRest);
    ASSERT_TRUE(stat) << name;
    EXPECT_EQ(stat->state, 'S') << name;
    EXPECT_EQ(stat->major_faults, 7);
    EXPECT_EQ(stat->user_ticks, 250);
    EXPECT_EQ(stat->system_ticks, 31);
    EXPECT_EQ(stat->threads, 14);
  }
}

// A number that is cut off is another number: all of the text or nothing.
TEST(ProcessTexts, StatThatIsCutOffGivesNothingOrTheSame) {
  std::string text = std::string("4711 (a) b)") + kRest;
  for (size_t size = 0; size < text.size(); ++size) {
    std::optional<ProcessStat> stat = ParseProcessStat(text.substr(0, size));
    if (!stat) continue;
    EXPECT_EQ(stat->threads, 14) << size;
    EXPECT_EQ(stat->user_ticks, 250) << size;
  }
}

TEST(ProcessTexts, StatOfADamagedLineGivesNothing) {
  EXPECT_FALSE(ParseProcessStat(""));
  EXPECT_FALSE(ParseProcessStat("1 (x)"));
  EXPECT_FALSE(ParseProcessStat("1 (x) S 1 2 x 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19\n"));
}

TEST(ProcessTexts, StatusSchedstatAndIo) {
  std::string status =
      "Name:\tVmRSS:\t9 kB\nState:\tt (tracing stop)\nTracerPid:\t4812\nVmRSS:\t    1752 kB\nRssAnon:\t     112 kB\n"
      "VmSwap:\t       3 kB\nvoluntary_ctxt_switches:\t15\nnonvoluntary_ctxt_switches:\t2\n";
  std::optional<ProcessStatus> read = ParseStatus(status);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->tracer, 4812);
  EXPECT_EQ(read->resident_kb, 1752);
  EXPECT_EQ(read->anonymous_kb, 112);
  EXPECT_EQ(read->swap_kb, 3);
  EXPECT_EQ(read->voluntary_switches, 15);
  EXPECT_EQ(read->involuntary_switches, 2);
  for (size_t size = 0; size < status.size(); ++size) ParseStatus(status.substr(0, size));
  EXPECT_FALSE(ParseStatus("Name:\tx\n"));

  std::optional<ThreadTimes> times = ParseSchedstat("7612678 82967868 3\n");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->run_ns, 7612678);
  EXPECT_EQ(times->wait_ns, 82967868);
  EXPECT_FALSE(ParseSchedstat("7612678 829678"));
  EXPECT_FALSE(ParseSchedstat(""));

  std::optional<ProcessIo> io = ParseIo("rchar: 6976\nwchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\n");
  ASSERT_TRUE(io);
  EXPECT_EQ(io->read_bytes, 4096);
  EXPECT_EQ(io->written_bytes, 8192);
  EXPECT_FALSE(ParseIo("rchar: 6976\n"));
}

TEST(Cgroups, PlacesAreReadOfBothVersions) {
  std::vector<CgroupPlace> places = ParseCgroups(
      "9:name=systemd:/\n4:memory:/process_api/3b\n2:cpu,cpuacct:/a:b/c\n6:freezer:/\n5:devices:/x\n0::/user.slice/"
      "1\nrubbish\n7:memory\n");
  std::vector<std::string> names;
  for (const CgroupPlace& place : places) names.push_back(place.name());
  EXPECT_EQ(names, (std::vector<std::string>{"memory:/process_api/3b", "cpu:/a:b/c", "freezer:/", "/user.slice/1"}));
}

TEST(Cgroups, DirectoriesFollowTheMount) {
  std::vector<CgroupMount> mounts = ParseCgroupMounts(
      "36 25 0:31 /docker/1 /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory\n"
      "37 25 0:32 / /sys/fs/cgroup/cpu\\040set rw - cgroup cgroup rw,cpu,cpuacct\n"
      "38 25 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n39 25 0:34 / /tmp rw - tmpfs tmpfs rw\nshort\n");
  ASSERT_EQ(mounts.size(), 3u);
  EXPECT_EQ(DirectoryOf({"memory", "/docker/1/job"}, mounts), "/sys/fs/cgroup/memory/job");
  EXPECT_EQ(DirectoryOf({"memory", "/docker/1"}, mounts), "/sys/fs/cgroup/memory");
  EXPECT_EQ(DirectoryOf({"memory", "/docker/12"}, mounts), "");  // not ours to see
  EXPECT_EQ(DirectoryOf({"cpu", "/x"}, mounts), "/sys/fs/cgroup/cpu set/x");
  EXPECT_EQ(DirectoryOf({"", "/"}, mounts), "/sys/fs/cgroup/unified");
  EXPECT_EQ(DirectoryOf({"freezer", "/"}, mounts), "");
}

TEST(Cgroups, CpuStatOfBothVersionsIsInMicroseconds) {
  Values one, two;
  ParseCpuStat("nr_periods 120\nnr_throttled 80\nthrottled_time 5000000000\n", &one);
  ParseCpuStat("usage_usec 99\nuser_usec 9\nnr_periods 120\nnr_throttled 80\nthrottled_usec 5000000\n", &two);
  for (const Values& values : {one, two}) {
    EXPECT_EQ(Of(values, Metric::kPeriods), 120);
    EXPECT_EQ(Of(values, Metric::kThrottledPeriods), 80);
    EXPECT_EQ(Of(values, Metric::kThrottledUs), 5'000'000);
  }
  EXPECT_EQ(ParseQuota("max 100000\n"), 0);
  EXPECT_EQ(ParseQuota("150000 100000\n"), 1500);
  EXPECT_EQ(ParseQuota("150000"), std::nullopt);
  EXPECT_EQ(ParseQuota("150000 0"), std::nullopt);
}

TEST(System, ReadsSumsOfAllCpusAndMemory) {
  Values values;
  ParseNodeStat(
      "cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 2 3 4 5 6 7 8 0 0\nintr 1 2\nprocs_blocked "
      "3\n",
      &values);
  int64_t tick_ms = 1000 / sysconf(_SC_CLK_TCK);
  EXPECT_EQ(Of(values, Metric::kCpuUserMs), 120 * tick_ms);
  EXPECT_EQ(Of(values, Metric::kCpuSystemMs), 43 * tick_ms);
  EXPECT_EQ(Of(values, Metric::kCpuStealMs), 8 * tick_ms);
  EXPECT_EQ(Of(values, Metric::kCpus), 2);
  EXPECT_EQ(Of(values, Metric::kTasksBlocked), 3);
  ParseLoad("10.52 0.58 0.59 1/467 12345\n", &values);
  EXPECT_EQ(Of(values, Metric::kLoadPercent), 1052);
  ParseMemory("MemTotal:  16 kB\nMemFree: 1 kB\nMemAvailable:   5 kB\nSwapFree: 0 kB\n", &values);
  EXPECT_EQ(Of(values, Metric::kMemoryAvailableKb), 5);
  ParseVmstat("oom_kill_disable 9\noom_kill 4\n", &values);
  EXPECT_EQ(Of(values, Metric::kNodeOomKills), 4);
  Metric full = Metric::kPressureIoFullUs;
  ParsePressure("some avg10=0.00 avg60=1.00 avg300=0.00 total=71\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=13\n",
                Metric::kPressureIoUs, &full, &values);
  EXPECT_EQ(Of(values, Metric::kPressureIoUs), 71);
  EXPECT_EQ(Of(values, Metric::kPressureIoFullUs), 13);
}

TEST(System, AnyTruncatedTextIsSafe) {
  std::string stat = "cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 2 3 4\n",
              net = "Inter-|   Receive\n face |bytes\n  eth0: 2048 2 1 4 0 0 0 0 4096 6 3 5 0 0 0 0\n";
  for (size_t size = 0; size <= stat.size(); ++size) {
    Values values;
    ParseNodeStat(std::string_view(stat).substr(0, size), &values);
    if (size < 29) {
      EXPECT_EQ(Of(values, Metric::kCpuUserMs), -1) << size;
    }
  }
  for (size_t size = 0; size < net.size(); ++size)
    EXPECT_TRUE(ParseNetDev(std::string_view(net).substr(0, size)).empty());
}

TEST(Network, InterfacesOfTheNodeWithTheirErrors) {
  InterfaceValues all = ParseNetDev(
      "Inter-|   Receive\n face |bytes\n    lo: 1 2 3 4 0 0 0 0 1 2 3 4 0 0 0 0\n"
      "  eth0: 2048 2 1 4 0 0 0 0 4096 6 3 5 0 0 0 0\nveth1234:1 2 3 4 0 0 0 0 1 2 3 4 0 0 0 0\n");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(Of(all["eth0"], Metric::kReceivedKb), 2);
  EXPECT_EQ(Of(all["eth0"], Metric::kSentKb), 4);
  EXPECT_EQ(Of(all["eth0"], Metric::kNetErrors), 4);
  EXPECT_EQ(Of(all["eth0"], Metric::kNetDrops), 9);
}

TEST(FileSystems, TmpfsOfJobsOnly) {
  EXPECT_EQ(
      ParseTmpfsMounts("1 2 0:3 / /dev/shm rw - tmpfs tmpfs rw\n1 2 0:4 / / rw - ext4 /dev/x rw\n"
                       "1 2 0:5 / /run/user/0 rw - tmpfs tmpfs rw\n1 2 0:5 / /mnt/a rw shared:1 - tmpfs none rw\n"),
      (std::vector<std::string>{"/dev/shm", "/mnt/a"}));
  EXPECT_GT(Of(ReadFileSystem("/"), Metric::kTotalKb), 0);
  EXPECT_TRUE(ReadFileSystem("/there/is/none").empty());
}

TEST(ClockSteps, AreTheJumpsOfTheDifference) {
  constexpr int64_t kS = 1'000'000'000, kMs = 1'000'000;
  ClockSteps steps;
  EXPECT_FALSE(steps.Look({1 * kS, 100 * kS, 1 * kS}));
  EXPECT_FALSE(steps.Look({2 * kS, 101 * kS + 2 * kMs, 2 * kS}));  // read a little later
  std::optional<ClockStepSeen> ahead = steps.Look({3 * kS, 147 * kS, 3 * kS});
  ASSERT_TRUE(ahead);
  EXPECT_EQ(ahead->step_ns, 45 * kS);
  EXPECT_EQ(ahead->suspended_ns, 0);
  EXPECT_FALSE(steps.Look({4 * kS, 148 * kS, 4 * kS}));
  std::optional<ClockStepSeen> back = steps.Look({5 * kS, 148 * kS + 500 * kMs, 5 * kS});
  ASSERT_TRUE(back);
  EXPECT_EQ(back->step_ns, -500 * kMs);
  std::optional<ClockStepSeen> slept = steps.Look({6 * kS, 159 * kS + 500 * kMs, 16 * kS});
  ASSERT_TRUE(slept);
  EXPECT_EQ(slept->suspended_ns, 10 * kS);
}

// ---- Packets ----------------------------------------------------------------------------------------------------

proto::Chunk Parsed(const std::string& bytes) {
  proto::Chunk chunk;
  EXPECT_TRUE(chunk.ParseFromString(bytes));
  return chunk;
}

TEST(SampleColumns, WhatIsPutInIsReadAgain) {
  SampleColumns columns(Subject::kCgroup, "cpu:/job");
  columns.Add(5'000'000'000, {{Metric::kPeriods, 10}, {Metric::kThrottledUs, 0}});
  columns.Add(6'001'000'000, {{Metric::kPeriods, 20}});
  columns.Add(7'000'000'000, {{Metric::kPeriods, 20}, {Metric::kFrozen, 1}});
  std::string chunk;
  columns.Take(&chunk);
  EXPECT_EQ(columns.size(), 0u);
  columns.Add(8'000'000'000, {{Metric::kPeriods, INT64_MAX}});
  columns.Take(&chunk);
  columns.Take(&chunk);  // nothing

  proto::Chunk parsed = Parsed(chunk);
  ASSERT_EQ(parsed.packet_size(), 2);
  EXPECT_EQ(parsed.packet(0).samples().name(), "cpu:/job");
  analyzer::SampleSeries series;
  for (const proto::Packet& packet : parsed.packet()) EXPECT_TRUE(analyzer::AddSamples(packet.samples(), &series));
  EXPECT_EQ(series.t_ns, (std::vector<int64_t>{5'000'000'000, 6'001'000'000, 7'000'000'000, 8'000'000'000}));
  EXPECT_EQ(*series.Of(Metric::kPeriods), (std::vector<int64_t>{10, 20, 20, INT64_MAX}));
  EXPECT_EQ(*series.Of(Metric::kThrottledUs), (std::vector<int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(*series.Of(Metric::kFrozen), (std::vector<int64_t>{1, 1, 1, 1}));
  EXPECT_EQ(series.Of(Metric::kMemoryKb), nullptr);
}

TEST(SampleColumns, WhatSaysNothingNewIsLeftOut) {
  SampleColumns columns(Subject::kInterface, "eth0");
  std::string chunk;
  columns.Add(1'000'000'000, {{Metric::kLinkUp, 1}});
  columns.TakeIfChanged(&chunk);
  EXPECT_FALSE(chunk.empty());
  chunk.clear();
  columns.Add(2'000'000'000, {{Metric::kLinkUp, 1}});
  columns.TakeIfChanged(&chunk);
  EXPECT_TRUE(chunk.empty());
  columns.Add(3'000'000'000, {{Metric::kLinkUp, 0}});
  columns.TakeIfChanged(&chunk);
  EXPECT_FALSE(chunk.empty());
}

// ---- A real process ---------------------------------------------------------------------------------------------

TEST(ProcessSampler, SeesThatAProcessIsStoppedAtOnce) {
  pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  ProcessSampler sampler(child);
  int64_t now = 1'000'000'000;
  ASSERT_TRUE(sampler.IsDue(now));
  EXPECT_TRUE(sampler.Sample(now, {}));  // the first one
  std::string chunk;
  int64_t first, last;
  sampler.Take(&chunk, &first, &last);
  EXPECT_FALSE(sampler.IsDue(now + 500'000'000));
  EXPECT_FALSE(sampler.Sample(now += 1'000'000'000, {}));
  kill(child, SIGSTOP);
  EXPECT_TRUE(WaitUntil([&] { return sampler.Sample(now += 1'000'000'000, {}); }));
  sampler.Take(&chunk, &first, &last);
  EXPECT_EQ(last, now);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(sampler.Sample(now += 1'000'000'000, {}));

  analyzer::Process process;
  proto::Chunk parsed = Parsed(chunk);
  for (const proto::Packet& packet : parsed.packet()) analyzer::AddSamples(packet.samples(), &process.samples);
  std::vector<analyzer::StateInterval> stops = analyzer::StopsOf({}, process);
  ASSERT_EQ(stops.size(), 1u);
  EXPECT_EQ(stops[0].state, 'T');
  EXPECT_FALSE(stops[0].over);
  EXPECT_GT(analyzer::ValueAt(process.samples, Metric::kResidentKb, now).value_or(0), 0);
}

TEST(ProcessSampler, OfAProcessThatCannotBeSeenThereIsNothing) {
  ProcessSampler sampler(0);
  EXPECT_FALSE(sampler.IsDue(INT64_MAX / 2));
  EXPECT_FALSE(sampler.Sample(1'000'000'000, {}));
}

}  // namespace
}  // namespace ddbg::collector
