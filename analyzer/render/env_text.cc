#include <fmt/format.h>

#include <algorithm>

#include "analyzer/model/format.h"
#include "analyzer/render/env.h"
#include "analyzer/render/who.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kValuesShown = 8;
constexpr size_t kTextShown = 160;

std::string ValueText(const FactValue& value) {
  if (!value.present) return "(none)";
  if (value.text.empty()) return "(empty)";
  if (value.text.size() <= kTextShown) return value.text;
  return value.text.substr(0, kTextShown) + "…";
}

// Long texts are the same at their beginning, as search paths are: shown from where they differ.
size_t CommonBeginning(const std::vector<FactValue>& a, const std::vector<FactValue>& b) {
  const std::string* first = nullptr;
  size_t common = 0, longest = 0;
  for (const std::vector<FactValue>* values : {&a, &b}) {
    for (const FactValue& value : *values) {
      if (!value.present) continue;
      longest = std::max(longest, value.text.size());
      if (!first) {
        first = &value.text;
        common = first->size();
        continue;
      }
      auto differs = std::mismatch(first->begin(), first->begin() + static_cast<long>(std::min(common, first->size())),
                                   value.text.begin(), value.text.end());
      common = static_cast<size_t>(differs.first - first->begin());
    }
  }
  return longest <= kTextShown || common < kTextShown / 2 ? 0 : common - kTextShown / 4;
}

void PrintValues(const Run& run, const std::vector<FactValue>& values, size_t from, const std::string& indent,
                 Output& out) {
  for (size_t i = 0; i < std::min(values.size(), kValuesShown); ++i) {
    FactValue shown = values[i];
    if (from && shown.text.size() > from) shown.text = "…" + shown.text.substr(from);
    std::string who = WhoText(run, shown.processes);
    out.Write(fmt::format("{}{}{}{}\n", indent, who, who.empty() ? "" : ": ", ValueText(shown)));
  }
  if (values.size() > kValuesShown)
    out.Write(fmt::format("{}and {} other values\n", indent, values.size() - kValuesShown));
}

}  // namespace

void PrintFactsText(const EnvInput& input, Output& out) {
  for (const FactDifference& difference : input.comparison.differences) {
    out.Write(fmt::format("\n{} {}{}\n", difference.name.area, difference.name.name,
                          difference.expected ? " (differs by design)" : ""));
    size_t from = CommonBeginning(difference.values, difference.other);
    if (!input.other) {
      PrintValues(input.run, difference.values, from, "  ", out);
    } else {
      out.Write(fmt::format("  in {}\n", input.run.run_id));
      PrintValues(input.run, difference.values, from, "    ", out);
      out.Write(fmt::format("  in {}\n", input.other->run_id));
      PrintValues(*input.other, difference.other, from, "    ", out);
    }
  }
}

void PrintEnvText(const EnvInput& input, Output& out) {
  const FactComparison& comparison = input.comparison;
  std::string what =
      input.other ? fmt::format("runs {} and {}", input.run.run_id, input.other->run_id)
                  : fmt::format("run {}, {}", input.run.run_id, Counted(RankProcesses(input.run).size(), "rank"));
  std::string hidden =
      comparison.hidden ? fmt::format(", {} differ by design (--all shows them)", comparison.hidden) : "";
  out.Write(fmt::format("{}: {} equal, {} different{}\n", what, Counted(comparison.equal, "fact"),
                        comparison.differences.size(), hidden));
  PrintFactsText(input, out);
}

}  // namespace ddbg::analyzer
