#include <fmt/format.h>

#include <algorithm>

#include "analyzer/model/format.h"
#include "analyzer/render/skew.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kRows = 12;

std::string Header(const SkewReport& report, std::optional<int64_t> slo_ns) {
  if (report.all.count == 0) return "Cannot tell: no collective of two ranks or more was recorded on all of them.\n";
  std::string text =
      fmt::format("entry skew of {}: p50 {}, p95 {}, p99 {}, at most {}\n", Counted(report.all.count, "collective"),
                  DurationText(report.all.p50_ns), DurationText(report.all.p95_ns), DurationText(report.all.p99_ns),
                  DurationText(report.all.max_ns));
  if (slo_ns)
    text += fmt::format("p99 is {} the {} that were asked for\n", report.all.p99_ns > *slo_ns ? "MORE than" : "within",
                        DurationText(*slo_ns));
  if (report.hosts > 1 && report.clock_error_ns >= 0)
    text +=
        fmt::format("between the {} hosts times are good to {}\n", report.hosts, DurationText(report.clock_error_ns));
  if (report.hosts > 1 && report.clock_error_ns < 0)
    text += fmt::format("between the {} hosts times are as good as their wall clocks are set\n", report.hosts);
  return text;
}

std::string Places(const SkewReport& report) {
  Table table(
      {"call", "communicator", "times", "p50", "p95", "p99", "max", "worst", "last then", "mostly last", "called at"});
  for (size_t i = 0; i < std::min(kRows, report.places.size()); ++i) {
    const SkewPlace& place = report.places[i];
    table.Add({place.call_name, place.comm, Grouped(place.skew.count), DurationText(place.skew.p50_ns),
               DurationText(place.skew.p95_ns), DurationText(place.skew.p99_ns), DurationText(place.skew.max_ns),
               fmt::format("#{}", place.worst_seq), fmt::format("rank {}", place.worst_rank),
               fmt::format("rank {} ({:.0f} %)", place.mostly_last,
                           100.0 * static_cast<double>(place.times_last) / static_cast<double>(place.skew.count)),
               place.line.empty() ? "-" : place.line});
  }
  std::string more = report.places.size() > kRows
                         ? fmt::format("and {} more, with less skew (--json has all)\n", report.places.size() - kRows)
                         : "";
  return "\nby call\n" + table.Text() + more;
}

std::string Ranks(const SkewReport& report) {
  Table table({"rank", "collectives", "last", "late by itself", "late by others", "worst"});
  for (const RankLateness& rank : report.ranks)
    table.Add({std::to_string(rank.rank), Grouped(rank.collectives), Grouped(rank.times_last),
               DurationText(rank.own_ns), DurationText(rank.inherited_ns), DurationText(rank.worst_ns)});
  return "\nby rank\n" + table.Text();
}

std::string WorstSteps(const SkewReport& report) {
  if (report.steps.empty()) return "";
  std::vector<SkewStep> worst = report.steps;
  std::stable_sort(worst.begin(), worst.end(),
                   [](const SkewStep& a, const SkewStep& b) { return a.skew.max_ns > b.skew.max_ns; });
  worst.resize(std::min(kRows, worst.size()));
  Table table({"step", "collectives", "p50", "max", "last then", "in"});
  for (const SkewStep& step : worst)
    table.Add({std::to_string(step.number), Grouped(step.skew.count), DurationText(step.skew.p50_ns),
               DurationText(step.skew.max_ns), fmt::format("rank {}", step.worst_rank),
               fmt::format("{} #{} on {}", step.call_name, step.seq, step.comm)});
  return fmt::format("\nworst of {} ({})\n", Counted(report.steps.size(), "step"), report.step_source) + table.Text();
}

std::string Senders(const SkewReport& report) {
  if (report.senders.empty()) return "";
  Table table({"sender", "receiver", "messages", "late", "receiver waited", "worst"});
  for (size_t i = 0; i < std::min(kRows, report.senders.size()); ++i) {
    const LateSender& pair = report.senders[i];
    table.Add({std::to_string(pair.sender), std::to_string(pair.receiver), Grouped(pair.messages), Grouped(pair.late),
               DurationText(pair.waited_ns), DurationText(pair.worst_ns)});
  }
  return "\nlate senders\n" + table.Text();
}

}  // namespace

void PrintSkewText(const Run&, const SkewReport& report, std::optional<int64_t> slo_ns, Output& out) {
  out.Write(Header(report, slo_ns));
  if (report.all.count > 0) out.Write(Places(report) + Ranks(report) + WorstSteps(report));
  out.Write(Senders(report));
  for (const std::string& caveat : report.caveats) out.Write("note: " + caveat + "\n");
}

}  // namespace ddbg::analyzer
