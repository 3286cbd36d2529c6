// Ranks of a data-parallel model that begin to train with different weights: they average the gradients of different
// models, and never come together. Mostly only some of them read the checkpoint. The hooks in PyTorch tell a sum of
// the weights before the first step, so that nothing depends on how the others were to get them. Of weights on a device
// they tell none; then a rank whose reading failed, and that got nothing by any collective until its first step, is
// told with doubt.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyzer/context/context.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/describe.h"
#include "analyzer/model/told.h"

namespace ddbg::analyzer {
namespace {

struct Beginning {
  size_t process = kNoIndex;
  size_t event = 0;  // index of the call that told the sum
  int64_t sum = 0;
  bool loaded = false;  // load_state_dict was called before
};

// What names the same model on all its ranks: the text, and the how-many-th of it.
using Model = std::pair<std::string, size_t>;

std::map<Model, std::vector<Beginning>> Beginnings(const Context& context) {
  std::map<Model, std::vector<Beginning>> models;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    std::vector<ToldEvent> loads = EventsTold(context.process(i), "weights_loaded");
    std::map<std::string, size_t> times;
    for (const ToldEvent& event : EventsTold(context.process(i), "weights")) {
      bool loaded = !loads.empty() && loads[0].call < event.call;
      models[{event.text, times[event.text]++}].push_back({i, event.call, event.number, loaded});
    }
  }
  return models;
}

// Who begins otherwise: those who did not load what all others of one sum loaded, else those who are fewer.
std::vector<Beginning> Odd(const std::vector<Beginning>& all) {
  std::map<int64_t, std::vector<Beginning>> by_sum;
  for (const Beginning& each : all) by_sum[each.sum].push_back(each);
  if (by_sum.size() < 2) return {};
  auto load = [](const Beginning& each) { return each.loaded; };
  const std::vector<Beginning>* right = nullptr;
  for (const auto& [sum, ranks] : by_sum) {
    bool loaded = std::all_of(ranks.begin(), ranks.end(), load);
    bool before = right && std::all_of(right->begin(), right->end(), load);
    if (!right || (loaded && !before) || (loaded == before && ranks.size() > right->size())) right = &ranks;
  }
  std::vector<Beginning> odd;
  for (const auto& [sum, ranks] : by_sum)
    if (&ranks != right) odd.insert(odd.end(), ranks.begin(), ranks.end());
  return odd;
}

std::vector<int32_t> RanksOf(const Context& context, const std::vector<Beginning>& some) {
  std::vector<int32_t> ranks;
  for (const Beginning& each : some) ranks.push_back(context.rank(each.process));
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

// The hooks name the exception behind the path.
bool IsFailed(const ToldEvent& read) { return read.text.ends_with("Error)") || read.text.ends_with("Exception)"); }

// What a process read of checkpoints before a call: "read /c.pt", "failed to read /c.pt (FileNotFoundError)".
std::string Reads(const Context& context, size_t process, size_t until) {
  std::string text;
  for (const ToldEvent& read : EventsTold(context.process(process), "checkpoint_read")) {
    if (read.call > until) break;
    text += fmt::format("{}{}read {}", text.empty() ? "" : ", ", IsFailed(read) ? "failed to " : "", read.text);
  }
  return text.empty() ? "read no checkpoint" : text;
}

Finding Found(const Context& context, const Model& model, const std::vector<Beginning>& all,
              const std::vector<Beginning>& odd) {
  Finding finding;
  bool some_loaded = std::any_of(all.begin(), all.end(), [](const Beginning& each) { return each.loaded; });
  bool odd_loaded = std::any_of(odd.begin(), odd.end(), [](const Beginning& each) { return each.loaded; });
  finding.kind = some_loaded && !odd_loaded ? "stale_weights" : "replica_divergence";
  finding.proof = Proof::kState;
  finding.culprit_ranks = RanksOf(context, odd);
  finding.first = context.Event(odd[0].process, odd[0].event);
  finding.first.field = "weights";
  finding.first.expected = "equal on all ranks";
  finding.first.actual = fmt::format("{:08x}", odd[0].sum);
  const char* begin = finding.culprit_ranks.size() == 1 ? "begins" : "begin";
  finding.summary = fmt::format(
      "{} {} to train {} with other weights than the others{}; the gradients of different "
      "models are averaged from then on.",
      RankList(finding.culprit_ranks), begin, model.first,
      finding.kind == "stale_weights" ? ", which loaded theirs from a checkpoint" : "");
  std::map<std::string, std::vector<int32_t>> told;
  for (const Beginning& each : all)
    told[fmt::format("{}; sum of weights at the first forward: {:08x}", Reads(context, each.process, each.event),
                     each.sum)]
        .push_back(context.rank(each.process));
  for (auto& [text, ranks] : told) finding.evidence.push_back(fmt::format("{} {}", RankList(ranks), text));
  finding.confidence = 0.9;
  return finding;
}

// A checkpoint that could not be read, or kNoIndex: the last one before the first step.
size_t FailedRead(const Context& context, size_t process, size_t first_step) {
  size_t failed = kNoIndex;
  for (const ToldEvent& read : EventsTold(context.process(process), "checkpoint_read")) {
    if (read.call >= first_step) break;
    failed = IsFailed(read) ? read.call : kNoIndex;
  }
  return failed;
}

// Could weights have come by a collective? An epoch's or a step's number is no more than two words.
bool GotData(const Context& context, size_t process, size_t from, size_t to) {
  constexpr uint64_t kTwoWords = 16;
  for (size_t i = from; i < to; ++i) {
    const Call& call = context.call(process, i);
    if (!call.known() || call.info().kind != CallKind::Collective || call.info().shape == CallShape::Barrier) continue;
    if (CallBytes(context.process(process), call).value_or(kTwoWords + 1) > kTwoWords) return true;
  }
  return false;
}

size_t FirstStep(const Context& context, size_t process) {
  const std::vector<Step>& steps = context.steps.of(process);
  return steps.empty() ? kNoIndex : steps.front().first_call;
}

// Of a job whose ranks told no sums.
std::vector<Finding> WhoReadNothing(Context& context) {
  Finding finding;
  bool some_loaded = false;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    size_t first_step = FirstStep(context, i);
    if (first_step == kNoIndex) continue;
    std::vector<ToldEvent> loads = EventsTold(context.process(i), "weights_loaded");
    bool loaded = !loads.empty() && loads[0].call < first_step;
    some_loaded = some_loaded || loaded;
    size_t failed = FailedRead(context, i, first_step);
    if (loaded || failed == kNoIndex || GotData(context, i, failed, first_step)) continue;
    if (finding.culprit_ranks.empty()) finding.first = context.Event(i, failed);
    finding.culprit_ranks.push_back(context.rank(i));
    finding.evidence.push_back(fmt::format("rank {} {}", context.rank(i), Reads(context, i, first_step)));
  }
  if (finding.culprit_ranks.empty() || !some_loaded) return {};
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  finding.kind = "stale_weights";
  finding.proof = Proof::kState;
  finding.first.field = "weights";
  finding.first.expected = "read";
  finding.first.actual = "not read";
  finding.summary = fmt::format(
      "{} could not read a checkpoint and began to train all the same, while others loaded theirs and nothing was sent "
      "in between: the weights differ, it seems.",
      RankList(finding.culprit_ranks));
  finding.confidence = 0.6;
  return {finding};
}

}  // namespace

std::vector<Finding> FindStaleWeights(Context& context) {
  auto models = Beginnings(context);
  if (models.empty())
    return context.steps.source() == StepSource::kMarks ? WhoReadNothing(context) : std::vector<Finding>();
  for (const auto& [model, all] : models)
    if (std::vector<Beginning> odd = Odd(all); !odd.empty()) return {Found(context, model, all, odd)};
  return {};
}

}  // namespace ddbg::analyzer
