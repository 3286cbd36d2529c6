#include "analyzer/find/shift.h"

#include <algorithm>
#include <set>
#include <utility>

namespace ddbg::analyzer {
namespace {

constexpr size_t kMaxExtra = 64;

using Pairs = std::set<std::pair<uint64_t, uint64_t>>;

bool Agree(const PathCall& x, const PathCall& y, const Pairs& by_design) {
  if (x.call != y.call) return false;
  if (x.arguments != y.arguments && x.arguments != 0 && y.arguments != 0) return false;
  return x.site == y.site || x.site == 0 || y.site == 0 || by_design.count({x.site, y.site}) > 0;
}

// Are `longer` from `from_longer` on and `shorter` from `from_shorter` on the same, as far as both go?
bool SameTail(const std::vector<PathCall>& longer, size_t from_longer, const std::vector<PathCall>& shorter,
              size_t from_shorter, const Pairs& by_design) {
  for (size_t i = from_longer, j = from_shorter; i < longer.size() && j < shorter.size(); ++i, ++j)
    if (!Agree(longer[i], shorter[j], by_design)) return false;
  return true;
}

// Extra steps in `longer` at `at`? The shorter one must then be used up: what it still had to do would be missing.
size_t ExtraAt(const std::vector<PathCall>& longer, const std::vector<PathCall>& shorter, size_t at,
               const Pairs& by_design) {
  for (size_t k = 1; k <= kMaxExtra && at + k <= longer.size(); ++k) {
    bool compares = at + k < longer.size() && at < shorter.size();
    if (compares && SameTail(longer, at + k, shorter, at, by_design)) return k;
  }
  return 0;
}

// One step with other arguments, and what follows agrees as it is: a wrong argument and no step too many.
bool OnlyArgumentsDiffer(const std::vector<PathCall>& a, const std::vector<PathCall>& b, size_t at,
                         const Pairs& by_design) {
  if (a[at].call != b[at].call || a[at].site != b[at].site) return false;
  return at + 1 < std::min(a.size(), b.size()) && SameTail(a, at + 1, b, at + 1, by_design);
}

Pairs Turned(const Pairs& pairs) {
  Pairs turned;
  for (const auto& [x, y] : pairs) turned.insert({y, x});
  return turned;
}

}  // namespace

Shift FindShift(const std::vector<PathCall>& a, const std::vector<PathCall>& b) {
  Pairs by_design;
  size_t common = std::min(a.size(), b.size());
  for (size_t at = 0; at < common; ++at) {
    if (Agree(a[at], b[at], by_design) || OnlyArgumentsDiffer(a, b, at, by_design)) continue;
    size_t in_a = ExtraAt(a, b, at, by_design), in_b = ExtraAt(b, a, at, Turned(by_design));
    // The one that got ahead is the one with more steps; where both explain, the shorter explanation.
    if (in_a && (!in_b || in_a < in_b || (in_a == in_b && a.size() > b.size()))) return {true, at, in_a, true};
    if (in_b) return {true, at, in_b, false};
    if (a[at].call != b[at].call) return {};
    by_design.insert({a[at].site, b[at].site});
  }
  return {};
}

}  // namespace ddbg::analyzer
