// Every log in this folder must give the verdict it names.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "analyzer/align/timeline.h"
#include "analyzer/model/describe.h"
#include "analyzer/verdict/diagnose.h"
#include "tests/golden/log_reader.h"

namespace ddbg::analyzer {
namespace {

std::vector<std::string> Logs() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(DDBG_GOLDEN_DIR))
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

std::string Verdict(const Diagnosis& diagnosis) {
  return diagnosis.verdict == Diagnosis::kHealthy ? "healthy"
         : diagnosis.verdict == Diagnosis::kFault ? "fault"
                                                  : "unknown";
}

std::string Ranks(const std::vector<int32_t>& ranks) {
  std::string text;
  for (int32_t rank : ranks) text += (text.empty() ? "" : ",") + std::to_string(rank);
  return text;
}

std::map<std::string, std::string> Fields(const Finding& finding) {
  return {{"kind", finding.kind},
          {"rank", std::to_string(finding.first.rank)},
          {"seq", std::to_string(finding.first.seq)},
          {"step", std::to_string(finding.first.step)},
          {"step_source", finding.first.step_source},
          {"comm", finding.first.comm},
          {"call", finding.first.call_name},
          {"field", finding.first.field},
          {"expected", finding.first.expected},
          {"actual", finding.first.actual},
          {"culprits", Ranks(finding.culprit_ranks)}};
}

// With spaces for the underscores of `part`.
bool Has(const std::string& text, std::string part) {
  std::replace(part.begin(), part.end(), '_', ' ');
  return text.find(part) != std::string::npos;
}

bool HasCaveat(const Diagnosis& diagnosis, const std::string& part) {
  return std::any_of(diagnosis.caveats.begin(), diagnosis.caveats.end(),
                     [&](const std::string& caveat) { return Has(caveat, part); });
}

class GoldenLogs : public testing::TestWithParam<std::string> {};

TEST_P(GoldenLogs, GiveTheirVerdict) {
  std::ifstream file(std::string(DDBG_GOLDEN_DIR) + "/" + GetParam() + ".txt");
  std::stringstream text;
  text << file.rdbuf();
  GoldenLog log = ReadGoldenLog(text.str());
  ASSERT_EQ(log.error, "");
  ASSERT_NE(log.verdict, "");

  Diagnosis diagnosis = DiagnoseRun(log.run);

  ASSERT_EQ(Verdict(diagnosis), log.verdict) << diagnosis.summary;
  if (auto caveat = log.expected.extract("caveat")) {
    EXPECT_TRUE(HasCaveat(diagnosis, caveat.mapped())) << caveat.mapped();
  }
  if (auto summary = log.expected.extract("summary")) {
    EXPECT_TRUE(Has(diagnosis.summary, summary.mapped())) << diagnosis.summary;
  }
  if (diagnosis.findings.empty()) return;
  std::map<std::string, std::string> fields = Fields(diagnosis.findings[0]);
  // Of the run's axis, whatever the host's clock says; a process may have started a little before its first call.
  constexpr int64_t kStartNs = -1'000'000'000;
  int64_t end_ns = Timeline(log.run).end_ns();
  for (const Finding& finding : diagnosis.findings)
    EXPECT_TRUE(finding.first.t_ns >= kStartNs && finding.first.t_ns <= end_ns)
        << finding.kind << ": " << finding.first.t_ns << " of " << end_ns;
  for (const auto& [key, value] : log.expected) EXPECT_EQ(fields[key], value) << key << ": " << diagnosis.summary;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenLogs, testing::ValuesIn(Logs()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace ddbg::analyzer
