// What differs between the processes of a run, or between two runs, of what they were started with and what they
// loaded: environment, program, libraries, host, launcher, recording. Pure functions.
//
// A fact is a name with a text. Facts that differ by design, such as RANK or a pid, are told apart by rules on their
// names (DiffersByRank), not by how they differ: a RANK that two ranks share is for `ddbg diagnose`.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct FactName {
  std::string area;  // "environment", "program", "library", "file" (with code), "host", "launcher", "recording"
  std::string name;
  auto operator<=>(const FactName&) const = default;
};

struct FactValue {
  bool present = true;  // false: these processes do not have the fact
  std::string text;
  std::vector<size_t> processes;  // ascending indexes into Run::processes
};

// By name: who has which value, those of most processes first.
using Facts = std::map<FactName, std::vector<FactValue>>;

// Of one process a rank: the one with the most calls. Of processes without a rank all, if no process has one.
std::vector<size_t> RankProcesses(const Run& run);
Facts FactsOf(const Run& run);

// Differs by design between the ranks of a run.
bool DiffersByRank(const FactName& name);
// Differs by design between two runs of a program.
bool DiffersByRun(const FactName& name);

struct FactDifference {
  FactName name;
  bool expected = false;
  std::vector<FactValue> values;  // in the run
  std::vector<FactValue> other;   // in the other run, where two were compared
};

struct FactComparison {
  std::vector<FactDifference> differences;  // by name
  size_t equal = 0;                         // facts that are the same everywhere
  size_t hidden = 0;                        // that differ as expected, and were left out
};

// `all`: with those that are expected to differ.
FactComparison CompareRanks(const Run& run, bool all);
// Different are the facts of which one run has values that the other does not have on any rank. Of files it is no
// difference, in both, that they are not loaded somewhere.
FactComparison CompareRuns(const Run& run, const Run& other, bool all);

}  // namespace ddbg::analyzer
