#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "analyzer/model/describe.h"
#include "analyzer/model/format.h"
#include "analyzer/render/diff.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kShown = 10;

std::string RanksPhrase(const std::vector<int32_t>& ranks, uint64_t all) {
  if (ranks.size() == all && all > 1) return fmt::format("all {} ranks", all);
  return RankList(ranks);
}

std::string CallLine(const Run& run, size_t process, size_t call, StackViews* views) {
  if (process == kNoIndex || call == kNoIndex) return "nothing more";
  const Process& p = run.processes[process];
  std::string line = DescribeFrame(views->Of(p, p.calls[call].stack).source_frame());
  return DescribeCall(p, p.calls[call]) + (line.empty() ? "" : ", " + line);
}

std::string WhatDiffers(const StructuralDifference& d) {
  switch (d.kind) {
    case StructuralDifference::kExtra: return fmt::format("{} more", Counted(d.calls, "call"));
    case StructuralDifference::kMissing: return fmt::format("{} missing", Counted(d.calls, "call"));
    case StructuralDifference::kEndsEarly:
      return fmt::format("ends here, {} before the good run's end", Counted(d.calls, "call"));
    case StructuralDifference::kRepetitions:
      return fmt::format("another number of steps: {} {} of a loop of {}",
                         Counted(static_cast<uint64_t>(std::abs(d.turns)), "turn"), d.turns > 0 ? "more" : "less",
                         Counted(d.calls, "call"));
    case StructuralDifference::kChanged: break;
  }
  if (d.field.empty()) return "goes on differently";
  return fmt::format("{} {} instead of {}", d.field, d.actual.empty() ? "none" : d.actual,
                     d.expected.empty() ? "none" : d.expected);
}

void PrintStructural(const DiffInput& input, const StructuralDifference& d, Output& out) {
  out.Write(
      fmt::format("  {}, {} #{}: {}\n", RanksPhrase(d.ranks, input.diff.ranks), d.lane, d.position, WhatDiffers(d)));
  out.Write(fmt::format("    good: {}\n", CallLine(input.good, d.good_process, d.good_call, input.views)));
  out.Write(fmt::format("    bad:  {}  ({:.6f} s after its first event)\n",
                        CallLine(input.bad, d.bad_process, d.bad_call, input.views),
                        static_cast<double>(d.bad_ns) / 1e9));
}

void PrintSlower(const std::vector<SlowerSite>& rows, Output& out) {
  if (rows.empty()) return static_cast<void>(out.Write("\nno call site became clearly slower\n"));
  out.Write("\nslower, most costly first\n");
  Table table({"measure", "call", "communicator", "from", "median", "was", "p95", "was", "calls", "cost"});
  for (size_t i = 0; i < std::min(rows.size(), kShown); ++i) {
    const SlowerSite& row = rows[i];
    table.Add({row.measure, row.call, row.comm, row.line, DurationText(row.bad.median_ns),
               DurationText(row.good.median_ns), DurationText(row.bad.p95_ns), DurationText(row.good.p95_ns),
               Grouped(row.bad.calls), DurationText(row.excess_ns)});
  }
  out.Write(table.Text());
  if (rows.size() > kShown) out.Write(fmt::format("and {} more (--json has all)\n", rows.size() - kShown));
}

}  // namespace

void PrintDiffText(const DiffInput& input, Output& out) {
  const RunDiff& diff = input.diff;
  out.Write(fmt::format("good {}, bad {}: {}, {} compared\n", input.good.run_id, input.bad.run_id,
                        Counted(diff.ranks, "rank"), Counted(diff.calls, "call")));
  if (!diff.only_good.empty()) out.Write(fmt::format("only in the good run: ranks {}\n", RanksText(diff.only_good)));
  if (!diff.only_bad.empty()) out.Write(fmt::format("only in the bad run: ranks {}\n", RanksText(diff.only_bad)));
  out.Write(diff.structural.empty() ? "\nno structural difference\n" : "\nfirst structural difference\n");
  for (size_t i = 0; i < std::min(diff.structural.size(), kShown); ++i) {
    if (i == 1) out.Write("further ones\n");
    PrintStructural(input, diff.structural[i], out);
  }
  if (diff.structural.size() > kShown)
    out.Write(fmt::format("  and {} more (--json has all)\n", diff.structural.size() - kShown));
  PrintSlower(diff.slower, out);
  out.Write(fmt::format("\nenvironment, program and libraries: {} different, {} equal\n",
                        input.facts.differences.size(), input.facts.equal));
  PrintFactsText({input.good, &input.bad, input.facts}, out);
  for (const std::string& caveat : diff.caveats) out.Write(fmt::format("\nnote: {}\n", caveat));
}

}  // namespace ddbg::analyzer
