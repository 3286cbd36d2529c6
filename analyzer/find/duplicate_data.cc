// All ranks of a data-parallel job train on the same data: the losses that they read are equal to the last bit in every
// step, though they vary from step to step, and were not averaged before.
//
// Equal losses are normal where the forward pass itself brings ranks together (tensor-parallel layers), where the loss
// was reduced before it was read, and where it never changes: nothing is said then. Batches that come from a loader are
// a finding, with the doubt that it may be meant; those that the program makes by itself, as a benchmark does, only a
// note.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "analyzer/context/context.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/describe.h"
#include "analyzer/model/told.h"
#include "analyzer/steps/phases.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kFewestSteps = 8;
constexpr double kLeastVaried = 0.5;  // different losses, of the steps
constexpr double kConfidence = 0.7;   // it may be meant

// Of one rank: the first loss it read in each step.
struct Losses {
  size_t process = kNoIndex;
  std::map<int64_t, ToldValue> by_step;
};

Losses LossesOf(const Context& context, size_t process) {
  Losses losses{process, {}};
  for (const ToldValue& loss : ValuesTold(context.process(process), "loss"))
    if (int64_t step = context.steps.NumberOf(process, loss.call); step >= 0) losses.by_step.try_emplace(step, loss);
  return losses;
}

// Of every rank of the job; empty if one has none.
std::vector<Losses> OfAllRanks(const Context& context) {
  std::vector<Losses> all;
  int32_t world = 0;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    if (!context.situation(i).communicates) continue;
    world = std::max(world, context.process(i).world_size());
    all.push_back(LossesOf(context, i));
    if (all.back().by_step.size() < kFewestSteps) return {};
  }
  return world >= 2 && static_cast<int32_t>(all.size()) == world ? all : std::vector<Losses>();
}

// Steps that all ranks have a loss of; nothing if it differs in one of them.
std::vector<int64_t> EqualSteps(const std::vector<Losses>& all) {
  std::vector<int64_t> steps;
  std::set<double> varied;
  for (const auto& [step, loss] : all[0].by_step) {
    bool everywhere = true;
    for (const Losses& rank : all) {
      auto other = rank.by_step.find(step);
      everywhere = everywhere && other != rank.by_step.end();
      if (other != rank.by_step.end() && other->second.value != loss.value) return {};
    }
    if (!everywhere) continue;
    steps.push_back(step);
    varied.insert(loss.value);
  }
  bool enough = steps.size() >= kFewestSteps &&
                static_cast<double>(varied.size()) >= kLeastVaried * static_cast<double>(steps.size());
  return enough ? steps : std::vector<int64_t>();
}

bool IsIn(const std::vector<Phase>& phases, std::string_view name, int64_t t_ns) {
  auto after = std::partition_point(phases.begin(), phases.end(), [&](const Phase& p) { return p.start_ns <= t_ns; });
  for (size_t k = 0; after != phases.begin() && k < 16; ++k) {
    --after;
    if (after->name == name && t_ns < after->end_ns) return true;
  }
  return false;
}

// What goes on between the ranks in a step until its loss is read.
enum class Meeting {
  kOther,     // may have made the losses equal, or nobody averages anything
  kGradients  // in backward only, but for broadcasts of buffers
};

Meeting MeetingIn(const Context& context, const std::vector<Phase>& phases, const Losses& rank, int64_t step) {
  const Process& process = context.process(rank.process);
  bool averages = false;
  size_t loss = rank.by_step.at(step).call;
  for (size_t i = loss; i-- > 0 && context.steps.NumberOf(rank.process, i) == step;) {
    const Call& call = process.calls[i];
    if (!call.known() || IsMark(call) || (call.flags & (kFlagSecondHalf | kFlagNested))) continue;
    CallKind kind = call.info().kind;
    if (kind == CallKind::Send || kind == CallKind::Recv) return Meeting::kOther;
    if (kind != CallKind::Collective || call.info().shape == CallShape::Barrier) continue;
    if (IsIn(phases, "backward", call.start_ns)) {
      averages = true;
      continue;
    }
    if (!FieldsOf(call).root || !IsIn(phases, "forward", call.start_ns)) return Meeting::kOther;
  }
  return averages ? Meeting::kGradients : Meeting::kOther;
}

}  // namespace

std::vector<Finding> FindDuplicateData(Context& context) {
  if (context.steps.source() != StepSource::kMarks) return {};
  std::vector<Losses> all = OfAllRanks(context);
  if (all.empty()) return {};
  std::vector<int64_t> steps = EqualSteps(all);
  if (steps.empty()) return {};
  std::vector<std::vector<Phase>> phases = PhasesOf(context.run);
  size_t loaded = 0;
  Finding finding;
  for (const Losses& rank : all) {
    const std::vector<Phase>& own = phases[rank.process];
    for (int64_t step : steps)
      if (MeetingIn(context, own, rank, step) == Meeting::kOther) return {};
    loaded += std::any_of(own.begin(), own.end(), [](const Phase& phase) { return phase.name == "loader"; });
    finding.culprit_ranks.push_back(context.rank(rank.process));
  }
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  std::string what = fmt::format(
      "the losses of {} are equal to the last bit in all {} steps that all told, from step {} on, though they vary "
      "from step to step and were read before anything was averaged",
      RankList(finding.culprit_ranks), steps.size(), steps[0]);
  if (loaded < all.size()) {
    context.notes.push_back(what +
                            ": the ranks train on the same data, which a benchmark with made-up data may mean to");
    return {};
  }
  finding.kind = "duplicate_data";
  finding.proof = Proof::kState;
  finding.first = context.Event(all[0].process, all[0].by_step.at(steps[0]).call);
  finding.first.field = "loss";
  finding.first.expected = "of its own data on each rank";
  finding.first.actual = fmt::format("{:.9g} on all", all[0].by_step.at(steps[0]).value);
  finding.summary =
      fmt::format("{} seem to train on the same data: their losses are equal to the last bit in {} of {} steps.",
                  RankList(finding.culprit_ranks), steps.size(), steps.size());
  finding.evidence = {
      what, fmt::format("each batch is worked on {} times, and its gradients are averaged with themselves", all.size()),
      "if all ranks are meant to see the same data, nothing is wrong"};
  finding.confidence = kConfidence;
  return {finding};
}

}  // namespace ddbg::analyzer
