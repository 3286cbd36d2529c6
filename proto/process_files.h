// The names of the files that hold one process's trace (FORMAT.md). Of most there is only the first.
//
//     rank-00003.ddbg                what is being written, or all there is
//     rank-00003.part-000001.ddbg    what was written before, oldest first
//     rank-00003.kept.ddbg           what stays of still older parts, which were dropped to keep within the budget
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace ddbg {

struct ProcessFile {
  enum Role { kKept, kPart, kCurrent } role = kCurrent;  // in the order of their content
  uint32_t part = 0;
  std::string stem;  // path without any of the endings
};

inline constexpr std::string_view kTraceSuffix = ".ddbg", kKeptSuffix = ".kept.ddbg", kPartInfix = ".part-";

inline ProcessFile ToProcessFile(std::string_view path) {
  ProcessFile file;
  if (path.ends_with(kKeptSuffix)) {
    file.role = ProcessFile::kKept;
    file.stem = path.substr(0, path.size() - kKeptSuffix.size());
    return file;
  }
  std::string_view stem = path.ends_with(kTraceSuffix) ? path.substr(0, path.size() - kTraceSuffix.size()) : path;
  size_t digits = stem.size();
  uint64_t part = 0, scale = 1;
  while (digits > 0 && stem[digits - 1] >= '0' && stem[digits - 1] <= '9' && scale <= 1'000'000'000) {
    part += static_cast<uint64_t>(stem[--digits] - '0') * scale;
    scale *= 10;
  }
  if (digits < stem.size() && part <= UINT32_MAX && stem.substr(0, digits).ends_with(kPartInfix)) {
    file.role = ProcessFile::kPart;
    file.part = static_cast<uint32_t>(part);
    stem = stem.substr(0, digits - kPartInfix.size());
  }
  file.stem = stem;
  return file;
}

inline std::string CurrentPath(const std::string& stem) { return stem + std::string(kTraceSuffix); }
inline std::string KeptPath(const std::string& stem) { return stem + std::string(kKeptSuffix); }
inline std::string PartPath(const std::string& stem, uint32_t part) {
  char number[16];
  snprintf(number, sizeof(number), "%06u", part);
  return stem + std::string(kPartInfix) + number + std::string(kTraceSuffix);
}

}  // namespace ddbg
