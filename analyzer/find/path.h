// The way of a rank through the program: its collectives in program order, over all communicators at once. Ranks that
// run one program take one path, also where each has communicators of its own (rows and columns, stages), so that paths
// tell what no single communicator does: which call was left out, or is one too many, where the ranks then wait for
// each other.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

struct PathStep {
  size_t call = kNoIndex;  // of the process
  uint16_t function = 0;
  uint64_t site = 0;
  uint64_t arguments = 0;  // where they must agree on all members; 0: nothing to compare

  uint64_t Use() const { return site * 31 + arguments; }
  bool SamePlace(const PathStep& other) const {
    return function == other.function && (site == other.site || site == 0 || other.site == 0);
  }
  bool Same(const PathStep& other) const {
    return SamePlace(other) && (arguments == other.arguments || arguments == 0 || other.arguments == 0);
  }
};

struct Path {
  size_t process = kNoIndex;
  std::vector<PathStep> steps;
  std::unordered_set<uint64_t> sites;
  std::unordered_set<uint64_t> uses;  // sites with the arguments there

  bool Passes(const PathStep& step) const { return sites.count(step.site) > 0; }
  bool Uses(const PathStep& step) const { return uses.count(step.Use()) > 0; }
};

// From call `from` of the process on; with `messages` sends and receives too, where they are posted; without those on
// communicators in `left_out` (ids). Empty if several threads make such calls, since their order says nothing, or if
// calls were lost.
Path PathOf(Context& context, size_t process, size_t from, bool messages, const std::unordered_set<uint32_t>& left_out);

// The first step where the two went different ways; kNoIndex if there is none as far as both go. Two lines for one call
// of which each passes only its own (if rank == 0: bcast, else: bcast) are the same way, and so are two sets of
// arguments of which each uses only its own: if they must agree, it is they that are wrong.
size_t PartingOf(const Path& a, const Path& b);

// What `path` would go on with from step `at`, its end being its past repeated: loops have a history. Several answers
// where the turns before it went on in several ways and are equally like this one; empty if there was none like it.
using Continuations = std::vector<std::vector<PathStep>>;
Continuations Expected(const Path& path, size_t at, size_t length);

// How a rank went other than expected.
enum class How { kLeftOut, kTooMany, kOtherOrder, kElsewhere };
struct Turn {
  How how = How::kElsewhere;
  size_t length = 0;  // steps that one side made more
  PathStep expected;  // instead of the first that differs
};
// `own` from `at` on against what was expected there: the shortest explanation.
Turn CompareWith(const std::vector<PathStep>& own, size_t at, const Continuations& expected);

}  // namespace ddbg::analyzer
