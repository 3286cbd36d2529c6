// What the rules find: one anomaly each, with the event that shows it first. Plain data; prints nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

inline constexpr size_t kNoIndex = static_cast<size_t>(-1);

// Where the anomaly shows first. `process` is an index into Run::processes, `call` one into its calls; kNoIndex where
// there is none (a rank that was never seen; a process that died outside of any call).
struct BadEvent {
  size_t process = kNoIndex;
  size_t call = kNoIndex;
  int32_t rank = -1;
  std::string comm;  // name for people; "" if no communicator is involved
  uint64_t comm_uid = 0;
  int64_t seq = -1;         // on that communicator; -1: none
  int64_t step = -1;        // -1: outside of all steps, or there are none
  std::string step_source;  // how it is known: "marks", "inferred"
  std::string call_name;    // what was called, or should have been
  std::string field;        // what differs: "call", "count", "datatype", "root", "op", "call site", "arrival", …
  std::string expected, actual;
  int64_t t_ns = 0;          // on the run's axis (timeline.h)
  std::vector<Frame> stack;  // of the call, folded, innermost first
  int source = -1;           // index into `stack` of the program's own line
};

// The verdict order of DESIGN 7: surer kinds of proof first. Within one proof, earlier events first.
enum class Proof : int {
  kStartUp = 0,   // the job never was one job
  kOwnEnd = 1,    // a process ended by itself before anyone waited
  kMismatch = 2,  // calls that must agree and do not
  kMissing = 3,   // a rank that never made the call its peers wait in
  kCycle = 4,
  kNoProgress = 5,
  kState = 6,  // wrong state that has not failed yet
  kTiming = 7,
  kUnknown = 8,
};

struct Finding {
  std::string kind;  // see kinds.h
  Proof proof = Proof::kUnknown;
  std::string failure_class;  // "": the kind's own
  bool wont_start = false;    // phase
  BadEvent first;
  std::vector<int32_t> culprit_ranks;  // ascending
  std::string summary;                 // one or two sentences
  std::vector<std::string> evidence;
  double confidence = 1.0;
};

struct Diagnosis {
  enum Verdict { kHealthy, kFault, kUnknown } verdict = kUnknown;
  std::vector<Finding> findings;  // all, the verdict first; symptoms of an earlier one are left out
  std::string summary;
  std::vector<std::string> caveats;  // what was lost, not traced, not readable, stopped from outside
  double confidence = 0.0;
};

}  // namespace ddbg::analyzer
