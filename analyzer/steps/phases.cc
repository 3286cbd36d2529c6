#include "analyzer/steps/phases.h"

#include <algorithm>

#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {
namespace {

enum class Word { kNone, kBegin, kEnd };

Word WordOf(const Call& call) {
  if (!IsMark(call)) return Word::kNone;
  switch (call.info().kind) {
    case CallKind::PhaseBegin: return Word::kBegin;
    case CallKind::PhaseEnd: return Word::kEnd;
    case CallKind::Control:
      return call.aux == 0 ? Word::kNone : call.tag == 1 ? Word::kBegin : call.tag == -1 ? Word::kEnd : Word::kNone;
    default: return Word::kNone;
  }
}

// Number of a range of NVTX's that need not lie in others; 0: a phase that does.
int32_t RangeOf(const Call& call) { return call.info().kind == CallKind::Control ? 0 : call.tag; }

void End(int64_t t_ns, Phase* phase) { phase->end_ns = t_ns, phase->open = false; }

}  // namespace

std::vector<Phase> PhasesOf(const Process& process) {
  std::vector<Phase> phases;
  std::unordered_map<uint32_t, std::vector<size_t>> open;  // by thread, innermost last
  std::unordered_map<int32_t, size_t> ranges;              // that end by their number, on any thread
  for (size_t i = 0; i < process.calls.size(); ++i) {
    const Call& call = process.calls[i];
    Word word = WordOf(call);
    if (word == Word::kNone) continue;
    std::string name = MarkName(process, call);
    if (int32_t range = RangeOf(call)) {
      if (word == Word::kBegin) {
        ranges[range] = phases.size();
        phases.push_back({name, call.start_ns, process.last_seen_ns, call.thread, i});
      } else if (auto begun = ranges.find(range); begun != ranges.end()) {
        End(call.start_ns, &phases[begun->second]);
        ranges.erase(begun);
      }
      continue;
    }
    std::vector<size_t>& within = open[call.thread];
    if (word == Word::kBegin) {
      within.push_back(phases.size());
      phases.push_back({name, call.start_ns, process.last_seen_ns, call.thread, i});
      continue;
    }
    // An end without a begin was begun in detail that is gone, or never: nothing to say.
    auto begun = std::find_if(within.rbegin(), within.rend(),
                              [&](size_t phase) { return call.aux == 0 || phases[phase].name == name; });
    if (begun == within.rend()) continue;
    auto first = begun.base() - 1;
    for (auto at = first; at != within.end(); ++at) End(call.start_ns, &phases[*at]);
    within.erase(first, within.end());
  }
  return phases;
}

std::vector<std::vector<Phase>> PhasesOf(const Run& run) {
  std::vector<std::vector<Phase>> all;
  for (const Process& process : run.processes) all.push_back(PhasesOf(process));
  return all;
}

}  // namespace ddbg::analyzer
