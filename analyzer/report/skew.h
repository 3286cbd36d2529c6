// Entry skew of a run's collectives: how long after its first member the last one comes, by call site and by step, and
// who it is. Lateness of a rank is split into its own, for which it took longer than the others in its own code or in
// local calls since the collective before, and inherited, which came from waiting for somebody itself. Plain data for
// `ddbg skew`; the first call on each communicator is left out, since it shows how processes start.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/context/context.h"
#include "analyzer/report/selection.h"

namespace ddbg::analyzer {

struct SkewSpread {
  uint64_t count = 0;
  int64_t p50_ns = 0, p95_ns = 0, p99_ns = 0, max_ns = 0;
};

// One call site on one communicator.
struct SkewPlace {
  std::string comm, call_name, line;
  uint64_t comm_uid = 0;
  SkewSpread skew;
  int64_t worst_seq = -1, worst_step = -1;
  int32_t worst_rank = -1;  // the last of the worst
  int32_t mostly_last = -1;
  uint64_t times_last = 0;
};

struct SkewStep {
  int64_t number = -1;
  SkewSpread skew;
  int32_t worst_rank = -1;
  std::string comm, call_name;  // of the worst
  int64_t seq = -1;
};

// ns are sums over its collectives, of what it came later than the middle one.
struct RankLateness {
  int32_t rank = -1;
  uint64_t collectives = 0, times_last = 0;
  int64_t own_ns = 0, inherited_ns = 0, worst_ns = 0;
};

// Receives that had begun before their message was sent.
struct LateSender {
  int32_t sender = -1, receiver = -1;
  uint64_t messages = 0, late = 0;
  int64_t waited_ns = 0, worst_ns = 0;
};

struct SkewReport {
  SkewSpread all;
  std::vector<SkewPlace> places;    // largest p99 first
  std::vector<SkewStep> steps;      // ascending
  std::vector<RankLateness> ranks;  // ascending
  std::vector<LateSender> senders;  // longest wait first
  uint64_t incomplete = 0;          // collectives that a traced member did not make, or a member was not traced
  size_t hosts = 0;
  int64_t clock_error_ns = -1;  // largest bound of the difference of two of their clocks; -1: not known
  std::string step_source;      // "marks", "inferred"; "": there are no steps
  std::vector<std::string> caveats;
};

// Linear in the calls, but for the percentiles' selection.
SkewReport MeasureSkew(Context& context, const Selection& part);

}  // namespace ddbg::analyzer
