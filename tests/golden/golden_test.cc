// Every log in this folder must give the verdict it names.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "analyzer/describe.h"
#include "analyzer/diagnose.h"
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
          {"comm", finding.first.comm},
          {"call", finding.first.call_name},
          {"field", finding.first.field},
          {"expected", finding.first.expected},
          {"actual", finding.first.actual},
          {"culprits", Ranks(finding.culprit_ranks)}};
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
  if (diagnosis.findings.empty()) return;
  std::map<std::string, std::string> fields = Fields(diagnosis.findings[0]);
  for (const auto& [key, value] : log.expected) EXPECT_EQ(fields[key], value) << key << ": " << diagnosis.summary;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenLogs, testing::ValuesIn(Logs()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace ddbg::analyzer
