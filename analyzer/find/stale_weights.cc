// Ranks of a data-parallel model that begin to train with different weights: they average the gradients of different
// models, and never come together. Mostly only some of them read the checkpoint. The hooks in PyTorch tell a sum of
// the weights before the first step, so that nothing depends on how the others were to get them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyzer/context/context.h"
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

// What the rank read of checkpoints before it began: "read /c.pt (6139 bytes)", "reading /c.pt (FileNotFoundError)
// failed".
std::string Reads(const Context& context, const Beginning& beginning) {
  std::string text;
  for (const ToldEvent& read : EventsTold(context.process(beginning.process), "checkpoint_read")) {
    if (read.call > beginning.event) break;
    bool failed = read.text.ends_with("Error)") || read.text.ends_with("Exception)");
    text += text.empty() ? "" : ", ";
    text += failed ? fmt::format("failed to read {}", read.text) : fmt::format("read {}", read.text);
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
    told[fmt::format("{}; sum of weights at the first forward: {:08x}", Reads(context, each), each.sum)].push_back(
        context.rank(each.process));
  for (auto& [text, ranks] : told) finding.evidence.push_back(fmt::format("{} {}", RankList(ranks), text));
  finding.confidence = 0.9;
  return finding;
}

}  // namespace

std::vector<Finding> FindStaleWeights(Context& context) {
  for (const auto& [model, all] : Beginnings(context))
    if (std::vector<Beginning> odd = Odd(all); !odd.empty()) return {Found(context, model, all, odd)};
  return {};
}

}  // namespace ddbg::analyzer
