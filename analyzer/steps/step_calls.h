// What of a process's calls tells one turn of its loop from the next: collectives and messages, in order. And their
// kind in terms that are equal on all processes.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/steps/loop_finder.h"

namespace ddbg::analyzer {

// A call of the program's own that communicates: no completion, no second half, nothing that a library does within.
bool IsStepCall(const Call& call);

struct StepCalls {
  std::vector<LoopCall> calls;
  std::vector<size_t> index;  // of each, in Process::calls
};
StepCalls StepCallsOf(const Process& process);

// Kinds of calls of one process, comparable between processes; remembers call sites. Keeps a reference.
class CallKinds {
 public:
  explicit CallKinds(const Process& process);

  // Equal for calls of one function from one place on one communicator with one size.
  uint64_t Exact(const Call& call);
  // The same but for size, and for communicators that were made in the same way: the data-parallel ones of two stages.
  uint64_t Alike(const Call& call);
  uint64_t Site(const Call& call);
  // The communicator of a call; those that are made anew in each turn are one.
  uint64_t Comm(uint32_t id) const;

 private:
  void FindCommsOfLoops();

  const Process& process_;
  std::unordered_map<uint32_t, uint64_t> loop_comms_;  // those that were made many times in one place → the place
  std::unordered_map<uint32_t, uint64_t> sites_, comm_names_;
};

}  // namespace ddbg::analyzer
