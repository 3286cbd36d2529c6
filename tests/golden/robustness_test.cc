// What a verdict may not do when a part of the evidence is gone. Every golden log is maltreated in the ways a run is:
// a rank without a file, records that were lost, a file that was cut off, a job that is looked at while it runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "analyzer/verdict/diagnose.h"
#include "tests/golden/log_reader.h"

namespace ddbg::analyzer {
namespace {

constexpr double kCertain = 0.9;  // from here on people stop looking elsewhere
constexpr size_t kMostCuts = 120;

std::string TextOf(const std::string& name) {
  std::ifstream file(std::string(DDBG_GOLDEN_DIR) + "/" + name + ".txt");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> LogsThatExpect(const std::string& verdict) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(DDBG_GOLDEN_DIR)) {
    if (entry.path().extension() != ".txt") continue;
    // Not by reading the log itself: this runs at each start of the program, and some logs are long.
    if (TextOf(entry.path().stem()).find("\nexpect " + verdict) != std::string::npos)
      names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string Shown(const Diagnosis& diagnosis) {
  std::string text = diagnosis.verdict == Diagnosis::kHealthy ? "healthy: " : "";
  if (!diagnosis.findings.empty()) text += diagnosis.findings[0].kind + ": ";
  return text + diagnosis.summary + " (" + std::to_string(diagnosis.confidence) + ")";
}

class FaultyLogs : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    log_ = ReadGoldenLog(TextOf(GetParam()));
    whole_ = DiagnoseRun(log_.run);
    ASSERT_EQ(whole_.verdict, Diagnosis::kFault) << whole_.summary;
  }

  // Ranks that have their part in any of the findings of the whole log.
  std::set<int32_t> Guilty() const {
    std::set<int32_t> guilty;
    for (const Finding& finding : whole_.findings)
      guilty.insert(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
    return guilty;
  }

  void ExpectNoInnocent(const Diagnosis& diagnosis, const std::string& how) const {
    if (diagnosis.verdict != Diagnosis::kFault || diagnosis.confidence < kCertain) return;
    // A circle blames no rank, and of a knot another circle is as true.
    if (diagnosis.findings[0].proof == Proof::kCycle && whole_.findings[0].proof == Proof::kCycle) return;
    std::set<int32_t> guilty = Guilty();
    for (int32_t rank : diagnosis.findings[0].culprit_ranks)
      EXPECT_TRUE(guilty.count(rank)) << how << ": rank " << rank << " is innocent: " << Shown(diagnosis);
  }

  void ExpectNotHealthy(const Diagnosis& diagnosis, const std::string& how) const {
    EXPECT_NE(diagnosis.verdict, Diagnosis::kHealthy) << how << ": " << Shown(diagnosis);
  }

  GoldenLog log_;
  Diagnosis whole_;
};

TEST_P(FaultyLogs, StayHonestWithoutAnyOneProcess) {
  for (size_t i = 0; i < log_.run.processes.size() && log_.run.processes.size() > 1; ++i) {
    analyzer::Run run = log_.run;
    run.processes.erase(run.processes.begin() + static_cast<std::ptrdiff_t>(i));
    Diagnosis diagnosis = DiagnoseRun(run);
    std::string how = "without rank " + std::to_string(log_.run.processes[i].rank());
    ExpectNotHealthy(diagnosis, how);
    ExpectNoInnocent(diagnosis, how);
  }
}

TEST_P(FaultyLogs, StayHonestWhereRecordsWereCountedAsLost) {
  for (Process& process : log_.run.processes) {
    std::vector<uint64_t> before = process.lost;
    process.lost.assign(1, 7);
    Diagnosis diagnosis = DiagnoseRun(log_.run);
    std::string how = "lost on rank " + std::to_string(process.rank());
    ExpectNotHealthy(diagnosis, how);
    ExpectNoInnocent(diagnosis, how);
    process.lost = before;
  }
}

// As the recorder writes it: a record that tells how many are missing, in their place. Later sequence numbers stay.
Process WithoutCalls(const Process& process, size_t from, size_t to) {
  Process holed = process;
  Call lost;
  lost.call = kCallLost;
  lost.start_ns = process.calls[from].start_ns;
  lost.count = to - from;
  auto begin = holed.calls.begin();
  holed.calls.erase(begin + static_cast<std::ptrdiff_t>(from), begin + static_cast<std::ptrdiff_t>(to));
  holed.calls.insert(holed.calls.begin() + static_cast<std::ptrdiff_t>(from), lost);
  holed.lost.assign(1, to - from);
  holed.open_detail.clear();
  for (const auto& [index, detail] : process.open_detail)
    if (index < from || index >= to) holed.open_detail[index < from ? index : index - (to - from) + 1] = detail;
  return holed;
}

TEST_P(FaultyLogs, StayHonestWhereRecordsAreMissing) {
  for (size_t i = 0; i < log_.run.processes.size(); ++i) {
    const Process whole = log_.run.processes[i];
    size_t calls = whole.calls.size();
    if (calls == 0) continue;
    std::set<std::pair<size_t, size_t>> holes = {{0, 1}, {0, calls}, {calls - 1, calls}};
    for (size_t part = 0; part < 4; ++part) holes.insert({calls * part / 4, calls * (part + 1) / 4});
    for (size_t at = 1; at < std::min<size_t>(calls, 12); ++at) holes.insert({at, at + 1});
    for (auto [from, to] : holes) {
      if (from == to) continue;
      log_.run.processes[i] = WithoutCalls(whole, from, to);
      Diagnosis diagnosis = DiagnoseRun(log_.run);
      std::string how = "rank " + std::to_string(whole.rank()) + " without calls " + std::to_string(from) + " to " +
                        std::to_string(to);
      ExpectNotHealthy(diagnosis, how);
      ExpectNoInnocent(diagnosis, how);
    }
    log_.run.processes[i] = whole;
  }
}

Process CutOff(const Process& process, size_t calls) {
  Process cut = process;
  cut.calls.resize(calls);
  std::erase_if(cut.open_detail, [&](const auto& detail) { return detail.first >= calls; });
  cut.last_seen_ns = process.start_monotonic_ns;
  for (const Call& call : cut.calls) cut.last_seen_ns = std::max(cut.last_seen_ns, call.start_ns);
  cut.end = ProcessEnd();
  return cut;
}

std::set<size_t> CutPlaces(size_t calls) {
  std::set<size_t> places = {0, 1, calls / 4, calls / 2, calls * 3 / 4};
  for (size_t back = 1; back <= 4 && back <= calls; ++back) places.insert(calls - back);
  std::erase_if(places, [&](size_t place) { return place >= calls; });
  return places;
}

// The disk was full, or the file was copied before its end: nobody knows what came then.
TEST_P(FaultyLogs, StayHonestWhereAFileIsCutOff) {
  for (Process& process : log_.run.processes) {
    const Process whole = process;
    for (size_t calls : CutPlaces(whole.calls.size())) {
      process = CutOff(whole, calls);
      process.end.how = ProcessEnd::kGone;
      process.end.t_ns = process.last_seen_ns;
      process.damage = {"rank.ddbg is cut off"};
      Diagnosis diagnosis = DiagnoseRun(log_.run);
      std::string how = "rank " + std::to_string(whole.rank()) + " cut off after " + std::to_string(calls) + " calls";
      ExpectNotHealthy(diagnosis, how);
      ExpectNoInnocent(diagnosis, how);
    }
    process = whole;
  }
}

// A node whose collector lags: one rank is known until an earlier time than the others.
TEST_P(FaultyLogs, BlameNobodyWhoIsOnlySeenLess) {
  for (Process& process : log_.run.processes) {
    const Process whole = process;
    bool live = log_.run.live;
    for (size_t calls : CutPlaces(whole.calls.size())) {
      process = CutOff(whole, calls);
      log_.run.live = true;
      ExpectNoInnocent(DiagnoseRun(log_.run),
                       "rank " + std::to_string(whole.rank()) + " known up to " + std::to_string(calls) + " calls");
    }
    process = whole;
    log_.run.live = live;
  }
}

INSTANTIATE_TEST_SUITE_P(All, FaultyLogs, testing::ValuesIn(LogsThatExpect("fault")), TestName);

class HealthyLogs : public testing::TestWithParam<std::string> {};

void ExpectNoCertainFault(const GoldenLog& log, const std::string& how) {
  Diagnosis diagnosis = DiagnoseRun(log.run);
  if (!diagnosis.findings.empty() && diagnosis.findings[0].kind == "frozen") return;  // it is, until it goes on
  EXPECT_FALSE(diagnosis.verdict == Diagnosis::kFault && diagnosis.confidence >= kCertain)
      << how << ": " << Shown(diagnosis);
}

TEST_P(HealthyLogs, AreNoCertainFaultWhileTheyRun) {
  std::string text = TextOf(GetParam());
  size_t steps = ReadGoldenLog(text).steps, stride = std::max<size_t>(1, steps / kMostCuts);
  for (size_t cut = 1; cut < steps; cut += stride) {
    GoldenLog log = ReadGoldenLog(text, cut);
    ASSERT_EQ(log.error, "");
    ExpectNoCertainFault(log, "after " + std::to_string(cut) + " steps");
    // The same, but the last call of everybody has not returned yet.
    int64_t last = 0;
    for (const Process& process : log.run.processes)
      if (!process.calls.empty()) last = std::max(last, process.calls.back().start_ns);
    for (Process& process : log.run.processes)
      if (!process.calls.empty() && last - process.calls.back().start_ns < 1'000'000 && process.calls.back().known() &&
          process.end.how == ProcessEnd::kRunning)
        process.calls.back().duration_ns = kNeverReturned;
    ExpectNoCertainFault(log, "inside step " + std::to_string(cut));
  }
}

TEST_P(HealthyLogs, AreNoCertainFaultWithoutAnyOneProcess) {
  GoldenLog log = ReadGoldenLog(TextOf(GetParam()));
  for (size_t i = 0; i < log.run.processes.size(); ++i) {
    GoldenLog less = log;
    less.run.processes.erase(less.run.processes.begin() + static_cast<std::ptrdiff_t>(i));
    ExpectNoCertainFault(less, "without rank " + std::to_string(log.run.processes[i].rank()));
  }
}

TEST_P(HealthyLogs, AreNoCertainFaultWhereRecordsAreMissing) {
  GoldenLog log = ReadGoldenLog(TextOf(GetParam()));
  for (Process& process : log.run.processes) {
    const Process whole = process;
    size_t calls = whole.calls.size();
    for (size_t part = 0; part < 4 && calls > 0; ++part) {
      if (calls * part / 4 == calls * (part + 1) / 4) continue;
      process = WithoutCalls(whole, calls * part / 4, calls * (part + 1) / 4);
      ExpectNoCertainFault(log, "rank " + std::to_string(whole.rank()) + " without quarter " + std::to_string(part));
    }
    process = whole;
  }
}

// A slow node's files lag behind those of the others.
TEST_P(HealthyLogs, AreNoCertainFaultWhereOneRankIsSeenLess) {
  GoldenLog log = ReadGoldenLog(TextOf(GetParam()));
  for (Process& process : log.run.processes) {
    const Process whole = process;
    for (size_t calls : CutPlaces(whole.calls.size())) {
      process = CutOff(whole, calls);
      ExpectNoCertainFault(log, "rank " + std::to_string(whole.rank()) + " known up to " + std::to_string(calls));
      process.end.how = ProcessEnd::kGone;
      process.end.t_ns = process.last_seen_ns;
      process.damage = {"rank.ddbg is cut off"};
      ExpectNoCertainFault(log, "rank " + std::to_string(whole.rank()) + " cut off after " + std::to_string(calls));
    }
    process = whole;
  }
}

INSTANTIATE_TEST_SUITE_P(All, HealthyLogs, testing::ValuesIn(LogsThatExpect("healthy")), TestName);

}  // namespace
}  // namespace ddbg::analyzer
