// Rule 7: late arrival. Which rank holds the others up, in which pattern, and in which code; or nobody in particular.
// Speaks of own time only (arrivals.h), so that a rank which was held up itself is never blamed.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/find/lateness.h"
#include "analyzer/find/loader_stall.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/describe.h"
#include "analyzer/model/format.h"

namespace ddbg::analyzer {
namespace {

std::string Ms(double ns) { return DurationText(static_cast<int64_t>(ns)); }

class StragglerRule {
 public:
  explicit StragglerRule(Context& context) : context_(context), all_(FindLatenesses(context)) {
    if (!all_.found.empty()) phases_ = PhasesOf(context.run);
  }

  std::vector<Finding> Find() {
    std::vector<Finding> findings;
    for (const Lateness& lateness : all_.found) findings.push_back(Report(lateness));
    if (findings.empty() && all_.nobody_in) findings.push_back(ReportNobody(*all_.nobody_in, all_.nobody));
    for (std::string& note : all_.notes) context_.notes.push_back(std::move(note));
    return findings;
  }

 private:
  size_t CallIndex(const Rounds& rounds, size_t rank, size_t k) const {
    return rounds.CallOf(context_.matching, rank, k);
  }

  Finding Report(const Lateness& lateness) {
    const Straggle& worst = lateness.culprits[0];
    const Rounds& rounds = lateness.rounds;
    size_t process = rounds.processes[worst.rank];
    Finding finding;
    std::string phase = PhaseOf(context_, lateness, phases_);
    finding.kind = lateness.by_cpu ? "cpu_contention" : KindOfPhase(phase);
    finding.proof = Proof::kTiming;
    for (const Straggle& each : lateness.culprits)
      finding.culprit_ranks.push_back(context_.rank(rounds.processes[each.rank]));
    std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
    finding.first = context_.Event(process, CallIndex(rounds, worst.rank, worst.from));
    finding.first.field = "arrival";
    finding.first.expected =
        fmt::format("{} after the collective before, as the others", Ms(OthersTime(rounds, worst)));
    finding.first.actual = fmt::format("{} later", Ms(worst.excess_ns));
    finding.summary =
        fmt::format("{} {} the others up: {}, {}. {:.0f} % of {} is lost to it{}.", RankList(finding.culprit_ranks),
                    lateness.culprits.size() > 1 ? "hold" : "holds", Pattern(lateness),
                    lateness.by_cpu      ? "mostly by waiting for a CPU, which something else has"
                    : lateness.by_device ? "in waiting for its own device"
                                         : InCode(rounds, worst),
                    100 * worst.loss,
                    worst.shape == Shape::kOnset || worst.shape == Shape::kDrift ? "the time since then" : "the time",
                    lateness.culprits.size() > 1 ? ", the later of them" : "");
    if (!phase.empty())
      finding.evidence.push_back(fmt::format("it is in the phase \"{}\" that the program marks", phase));
    AddEvidence(lateness, &finding);
    finding.confidence = std::clamp(0.5 + 0.45 * worst.certainty, 0.5, 0.95);
    return finding;
  }

  // In the middle of the others and of the affected rounds.
  double OthersTime(const Rounds& rounds, const Straggle& worst) const {
    std::vector<float> times;
    auto add = [&](size_t k) {
      for (size_t r = 0; r < rounds.times.ranks(); ++r)
        if (r != worst.rank) times.push_back(rounds.times.own[r][k]);
    };
    if (worst.where.empty())
      for (size_t k = worst.from; k < rounds.times.rounds(); ++k) add(k);
    for (size_t k : worst.where) add(k);
    if (times.empty()) return 0;
    auto middle = times.begin() + times.size() / 2;
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }

  std::string Since(const Rounds& rounds, size_t k) const {
    return (rounds.IsOfSteps() ? "step " : "#") + std::to_string(rounds.seqs[k]);
  }

  std::string Pattern(const Lateness& lateness) const {
    const Straggle& worst = lateness.culprits[0];
    const Rounds& rounds = lateness.rounds;
    std::string amount = Ms(worst.excess_ns);
    switch (worst.shape) {
      case Shape::kConstant: return fmt::format("{} more than the others each time", amount);
      case Shape::kOnset: return fmt::format("{} more than the others from {} on", amount, Since(rounds, worst.from));
      case Shape::kDrift:
        return fmt::format("more and more since {}, {} more than the others at the end", Since(rounds, worst.from),
                           amount);
      case Shape::kPeriodic:
        return fmt::format("every {} rounds, {} times, {} more than the others", worst.period, worst.times, amount);
      case Shape::kOneOff:
        return fmt::format("{} pause of {}, before {}", worst.times == 1 ? "one" : "a", amount,
                           Since(rounds, worst.from));
      case Shape::kIrregular: break;
    }
    if (rounds.IsRare())
      return fmt::format(
          "{}, {} times, {} more than the others",
          worst.times == rounds.times.rounds() ? "each time" : "each time since " + Since(rounds, worst.from),
          worst.times, amount);
    return fmt::format("{} pauses of {} that the others do not have", worst.times, amount);
  }

  std::string InCode(const Rounds& rounds, const Straggle& worst) {
    return "in " + PlaceText(context_, rounds, worst.from);
  }

  void AddEvidence(const Lateness& lateness, Finding* finding) {
    const Rounds& rounds = lateness.rounds;
    const Straggle& worst = lateness.culprits[0];
    finding->evidence.push_back(fmt::format("pattern: {}", PatternName(worst.shape)));
    finding->evidence.push_back(fmt::format(
        "the time is the ranks' own, outside of calls that may wait for others: the others take {} there, rank {} {}",
        Ms(OthersTime(rounds, worst)), context_.rank(rounds.processes[worst.rank]),
        Ms(OthersTime(rounds, worst) + worst.excess_ns)));
    if (!worst.where.empty()) {
      std::string where;
      for (size_t i = 0; i < std::min<size_t>(worst.where.size(), 8); ++i)
        where += (i ? ", " : "") + Since(rounds, worst.where[i]);
      finding->evidence.push_back(fmt::format("before {}{}", where, worst.where.size() > 8 ? ", …" : ""));
    }
    finding->evidence.push_back(lateness.by_device ? "device side: it is in calls that wait for the device or copy"
                                                   : "host side: it is outside of all recorded calls");
    for (const std::string& note : all_.notes) finding->evidence.push_back(note);
  }

  static const char* PatternName(Shape shape) {
    switch (shape) {
      case Shape::kConstant: return "constant";
      case Shape::kOnset: return "onset";
      case Shape::kDrift: return "drift";
      case Shape::kPeriodic: return "periodic";
      case Shape::kIrregular: return "recurring";
      case Shape::kOneOff: break;
    }
    return "one-off";
  }

  Finding ReportNobody(const Rounds& rounds, const Judgement& judgement) {
    size_t slowest = 0, at = 0;
    for (size_t k = 1; k < rounds.times.rounds(); ++k)
      for (size_t r = 0; r < rounds.times.ranks(); ++r)
        if (rounds.times.own[r][k] > rounds.times.own[slowest][at]) slowest = r, at = k;
    Finding finding;
    finding.kind = "straggler";
    finding.proof = Proof::kTiming;
    finding.first = context_.Event(rounds.processes[slowest], CallIndex(rounds, slowest, at));
    finding.first.field = "arrival";
    finding.first.expected = "ranks that take about the same time";
    finding.first.actual = "a different rank is late each time";
    finding.summary = fmt::format(
        "No rank in particular holds the others up: {:.0f} % of the time is lost to whoever is the slowest of the "
        "moment, in {}.",
        100 * judgement.imbalance, PlaceText(context_, rounds, at));
    finding.evidence.push_back("pattern: random");
    finding.evidence.push_back(fmt::format(
        "transfers and ranks kept from a CPU account for {:.0f} % of the time at most", 100 * judgement.noise));
    finding.confidence = 0.6;
    return finding;
  }

  Context& context_;
  Latenesses all_;
  std::vector<std::vector<Phase>> phases_;  // by process
};

}  // namespace

std::vector<Finding> FindStragglers(Context& context) { return StragglerRule(context).Find(); }

}  // namespace ddbg::analyzer
