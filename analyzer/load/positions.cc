#include "analyzer/load/positions.h"

#include <algorithm>
#include <iterator>

namespace ddbg::analyzer {

void Positions::Add(uint64_t first, uint64_t end) {
  if (first >= end) return;
  auto next = ranges_.upper_bound(first);
  if (next != ranges_.begin() && std::prev(next)->second >= first) {
    --next;
    first = next->first;
  }
  while (next != ranges_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ranges_.erase(next);
  }
  ranges_[first] = end;
}

bool Positions::Contains(uint64_t position) const { return ContainsAll(position, position + 1); }

bool Positions::ContainsAll(uint64_t first, uint64_t end) const {
  auto next = ranges_.upper_bound(first);
  return next != ranges_.begin() && std::prev(next)->second >= end;
}

bool Positions::ContainsNone(uint64_t first, uint64_t end) const {
  auto next = ranges_.upper_bound(first);
  if (next != ranges_.end() && next->first < end) return false;
  return next == ranges_.begin() || std::prev(next)->second <= first;
}

uint64_t Positions::Missing() const {
  uint64_t missing = 0, expected = 0;
  for (const auto& [first, end] : ranges_) {
    missing += first - expected;
    expected = end;
  }
  return missing;
}

}  // namespace ddbg::analyzer
