// Names of NVTX ranges: which are recorded, and under what name. Any thread; nothing here allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ddbg::shim::nvtx {

inline constexpr size_t kMostNameBytes = 127;

struct Name {
  char text[kMostNameBytes + 1];
  uint32_t length = 0;
  std::string_view view() const { return {text, length}; }
};

void Set(const char* from, Name* name) noexcept;     // nullptr: empty
void Set(const wchar_t* from, Name* name) noexcept;  // as UTF-8

// Domains of libraries that mark each of their own calls: NCCL, cuBLAS, Thrust and their like. What they say is
// recorded from their calls, or is none of the program's phases.
bool IsLibraryDomain(std::string_view domain) noexcept;

// The trace has room for some thousand names, and programs put numbers into theirs ("step 1742", "aten::mm, seq = 93").
// Of names that differ in numbers only the first kMostVariants stay as they are; in those that come later numbers are
// "#".
inline constexpr uint32_t kMostVariants = 8;
void Bound(Name* name) noexcept;

// A copy that stays; nullptr: there is no room for more.
const Name* Keep(const Name& name) noexcept;

}  // namespace ddbg::shim::nvtx
