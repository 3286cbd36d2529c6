// A job that was started again leaves a directory an attempt (proto/FORMAT.md). What the earlier ones ended with is
// half of the answer to why the last one is as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/load/load.h"
#include "analyzer/model/finding.h"
#include "analyzer/report/reached.h"
#include "proto/result.h"

namespace ddbg::analyzer {

struct EarlierAttempt {
  unsigned number = 0;
  std::optional<Diagnosis> diagnosis;  // of those that are small enough to be looked at by the way
  Reached reached;                     // by these
  std::string why_not;                 // a sentence, where there is none
};

// Of the run that the attempt directory `dir` (…/RUN-ID/aN) belongs to, all before N, ascending. Empty for any other
// directory. At most the last three are looked at, and only as long as their files have kMostBytes together.
std::vector<EarlierAttempt> EarlierAttempts(const std::string& dir);

inline constexpr uint64_t kMostBytesOfEarlierAttempts = 64ull << 20;

// Ranks that were started again alone meet nobody: the others go on in the attempt before, where what happened to them
// is to be found. That one, with a caveat that says so; nothing where the last attempt has all its ranks, or none of
// those that it lacks is still in the one before.
std::optional<Run> AttemptLeftBehind(const Run& last, const LoadOptions& options);

// For each of the names that people gave for a run, the files of its attempt `number`.
Result<std::vector<std::string>> FilesOfAttempt(const std::vector<std::string>& names, unsigned number);

// "process_killed (rank 3), reached step 12", "healthy", "unknown", "not looked at".
std::string OutcomeText(const EarlierAttempt& attempt);

}  // namespace ddbg::analyzer
