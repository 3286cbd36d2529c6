// When a communicator's members are out of step: where the first one left the common path. Comparing kinds alone finds
// the place where it shows; comparing call sites finds where it began (an extra barrier that met another barrier).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ddbg::analyzer {

// One collective call of a member: what it was, where in the program, and with what arguments where those must agree on
// all members. site and arguments 0: unknown, equals anything.
struct PathCall {
  uint16_t call;
  uint64_t site;
  uint64_t arguments = 0;
};

struct Shift {
  bool found = false;
  size_t at = 0;           // index of the first step that differs
  size_t length = 0;       // steps that one side made more
  bool in_longer = false;  // the extra steps are in `a` (else in `b`)
};

// Explains two sequences of which one has extra steps: a prefix in common, `length` steps more on one side, and equal
// from there on as far as both go. Sites that differ by design (if rank == 0: bcast at line a, else at line b) are
// recognised by staying paired, and do not count as a difference. Not found: no such explanation.
// At least one step after the extra ones must be compared, or one side must end exactly there.
Shift FindShift(const std::vector<PathCall>& a, const std::vector<PathCall>& b);

}  // namespace ddbg::analyzer
