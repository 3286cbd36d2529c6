// Which cells of a lane have been read, as disjoint ranges [first, end). Nearly always one range.
#pragma once

#include <cstdint>
#include <map>

namespace ddbg::analyzer {

class Positions {
 public:
  void Add(uint64_t first, uint64_t end);
  bool Contains(uint64_t position) const;
  bool ContainsAll(uint64_t first, uint64_t end) const;
  bool ContainsNone(uint64_t first, uint64_t end) const;
  // Cells that are not in the set although a later one is.
  uint64_t Missing() const;

 private:
  std::map<uint64_t, uint64_t> ranges_;  // first → end, never touching each other
};

}  // namespace ddbg::analyzer
