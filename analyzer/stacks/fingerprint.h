// Call sites that can be compared between processes: address-space randomisation gives each process other addresses,
// so a site is a list of (file, offset), and in Python of (file and function, line). No symbols are needed. Pure
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct SiteFrame {
  std::string module;   // build-id (raw bytes), or the path of a file without one; "train.py:step" in Python
  uint64_t offset = 0;  // of the return address, bias taken off; Python: line
  bool operator==(const SiteFrame&) const = default;
};

// The application's frames of a stack, innermost first: those of MPI, ddbg, the C library and interpreters are left
// out, since they differ by warm-up and plug-in, not by what the program does. Empty if there is none.
std::vector<SiteFrame> NormalizedStack(const Process& process, uint32_t stack_id);

// Equal for equal NormalizedStacks; 0 if there is nothing to compare, which says nothing about the site.
uint64_t SiteKey(const Process& process, uint32_t stack_id);

// SiteKey of every stack of the process, by stack id.
std::unordered_map<uint32_t, uint64_t> SiteKeys(const Process& process);

}  // namespace ddbg::analyzer
