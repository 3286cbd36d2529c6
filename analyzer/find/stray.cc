#include "analyzer/find/stray.h"

#include <unordered_map>

#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kAhead = 128;  // steps that are foreseen

uint64_t Key(const PathStep& step) { return step.Use() * 0x9e3779b97f4a7c15ULL + step.function; }
uint64_t TurnKey(const PathStep& from, const PathStep& to) { return Key(from) * 0xbf58476d1ce4e5b9ULL ^ Key(to); }

// How many paths have taken each turn.
std::unordered_map<uint64_t, size_t> TakenBy(const std::vector<Path>& paths) {
  std::unordered_map<uint64_t, size_t> taken;
  for (const Path& path : paths) {
    std::unordered_set<uint64_t> own;
    for (size_t i = 1; i < path.steps.size(); ++i) own.insert(TurnKey(path.steps[i - 1], path.steps[i]));
    for (uint64_t turn : own) ++taken[turn];
  }
  return taken;
}

bool IsMessage(const Context& context, const Path& path, const PathStep& step) {
  return !IsCollective(context.call(path.process, step.call));
}

// The last step of the path that had never followed the one before it. That one must be known: from its own past, or
// from a peer's, who went on from there.
size_t LastNew(const Path& path, const std::unordered_set<uint64_t>& known_to_any) {
  std::unordered_set<uint64_t> turns, known;
  size_t last = kNoIndex;
  for (size_t i = 1; i < path.steps.size(); ++i) {
    uint64_t before = Key(path.steps[i - 1]);
    bool is_new = turns.insert(TurnKey(path.steps[i - 1], path.steps[i])).second;
    if (is_new && (known.count(before) || known_to_any.count(before))) last = i;
    known.insert(before);
  }
  return last;
}

// Steps after which some path went on to a message.
std::unordered_set<uint64_t> BeforeMessages(const Context& context, const std::vector<Path>& paths) {
  std::unordered_set<uint64_t> before;
  for (const Path& path : paths)
    for (size_t i = 1; i < path.steps.size(); ++i)
      if (IsMessage(context, path, path.steps[i])) before.insert(Key(path.steps[i - 1]));
  return before;
}

// A collective of a place where nobody had ever been, right after another one, where a message was due.
bool LeftForGood(const Context& context, const std::vector<Path>& paths, const Path& path, size_t at) {
  if (IsMessage(context, path, path.steps[at]) || IsMessage(context, path, path.steps[at - 1])) return false;
  size_t passed = 0;
  for (const Path& each : paths)
    for (const PathStep& step : each.steps) passed += step.SamePlace(path.steps[at]);
  return passed == 1;
}

// What a peer did after the last collective that it has in common with `path`, being there still.
bool PeerIsThere(const Context& context, const std::vector<Path>& paths, const Path& path, size_t at, Stray* stray) {
  for (size_t p = 0; p < paths.size(); ++p) {
    const std::vector<PathStep>& steps = paths[p].steps;
    for (size_t i = steps.size(); i-- > 1 && &paths[p] != &path;) {
      if (IsMessage(context, paths[p], steps[i - 1])) continue;
      if (!steps[i - 1].Same(path.steps[at - 1]) || !IsMessage(context, paths[p], steps[i])) break;
      stray->expected_path = p;
      stray->turn = {How::kElsewhere, 0, steps[i]};
      return true;
    }
  }
  return false;
}

// Explains the turn at `at`; false if it cannot be told what was left out or added there.
bool Explain(const Context& context, const std::vector<Path>& paths, Stray* stray) {
  const Path& path = paths[stray->path];
  Path past = path;
  past.steps.resize(stray->at);
  Continuations expected = Expected(past, stray->at, kAhead);
  stray->turn = CompareWith(path.steps, stray->at, expected);
  if (stray->turn.how == How::kLeftOut || stray->turn.how == How::kTooMany) return true;
  if (!LeftForGood(context, paths, path, stray->at)) return false;
  if (!expected.empty() && IsMessage(context, path, stray->turn.expected)) {
    stray->turn.how = How::kElsewhere;
    return true;
  }
  return PeerIsThere(context, paths, path, stray->at, stray);
}

}  // namespace

std::optional<Stray> FindStray(const Context& context, const std::vector<Path>& paths) {
  std::unordered_map<uint64_t, size_t> taken = TakenBy(paths);
  std::unordered_set<uint64_t> before_messages = BeforeMessages(context, paths);
  std::optional<Stray> first;
  int64_t first_ns = 0;
  for (size_t p = 0; p < paths.size(); ++p) {
    const Path& path = paths[p];
    size_t at = LastNew(path, before_messages);
    if (at == kNoIndex || taken[TurnKey(path.steps[at - 1], path.steps[at])] > 1) continue;
    Stray stray = {p, at, {}, p};
    if (!Explain(context, paths, &stray)) continue;
    int64_t start_ns = context.StartNs(path.process, path.steps[at].call);
    if (first && start_ns >= first_ns) continue;
    first = stray;
    first_ns = start_ns;
  }
  return first;
}

}  // namespace ddbg::analyzer
