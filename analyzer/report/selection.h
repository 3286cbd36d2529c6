// Which part of a run a command is about: the options --rank, --comm, --step, --from, --to and --last, the same for
// all.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/align/timeline.h"
#include "proto/result.h"

namespace ddbg::analyzer {

// Numbers of steps, both ends among them.
struct StepRange {
  int64_t first, last;
  bool Has(int64_t number) const { return number >= first && number <= last; }
};

struct Selection {
  std::set<int32_t> ranks;             // empty: all
  std::string comm;                    // as CommMatches (comm_name.h); empty: all
  std::optional<StepRange> steps;      // what lies in no step is not among them
  std::optional<double> from_s, to_s;  // seconds since the run's first event
  std::optional<double> last_s;        // seconds before the last thing seen

  bool HasRank(int32_t rank) const { return ranks.empty() || ranks.count(rank); }
  bool HasStep(int64_t number) const { return !steps || (number >= 0 && steps->Has(number)); }
  bool in_time() const { return from_s || to_s || last_s; }
  // From and to on the axis, far enough from the ends of int64 to be shifted.
  std::pair<int64_t, int64_t> Window(const Timeline& timeline) const;
};

// As typed.
struct SelectionText {
  std::string ranks, comm, steps, last;
  std::optional<double> from_s, to_s;

  // The error is a sentence for the command line.
  Result<Selection> Parse() const;
};

// "0,3,8-11" to a set. The error is a sentence for the command line.
Result<std::set<int32_t>> ParseRanks(std::string_view text);

// "12" or "3-7".
Result<StepRange> ParseSteps(std::string_view text);

}  // namespace ddbg::analyzer
