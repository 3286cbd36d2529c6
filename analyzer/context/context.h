// What every rule gets: the run and what was derived from it, made once.
#pragma once

#include <string>
#include <utility>

#include "analyzer/align/timeline.h"
#include "analyzer/context/replay.h"
#include "analyzer/context/situation.h"
#include "analyzer/match/match.h"
#include "analyzer/match/messages.h"
#include "analyzer/model/finding.h"
#include "analyzer/model/model.h"
#include "analyzer/stacks/fingerprint.h"
#include "analyzer/stacks/stack_view.h"
#include "analyzer/steps/roles.h"
#include "analyzer/steps/steps.h"

namespace ddbg::analyzer {

class Context {
 public:
  explicit Context(const Run& run);

  const Run& run;
  Matching matching;
  Messages messages;
  Timeline timeline;  // the times of calls are each host's own: compare those of two processes on this
  Situations situations;
  Replay replay;  // of NCCL's work on streams, until the hang was ended
  Steps steps;
  Roles roles;                     // of communicators
  std::vector<std::string> notes;  // of rules: what is no fault and yet worth a sentence

  const Process& process(size_t index) const { return run.processes[index]; }
  const Call& call(size_t process, size_t index) const { return run.processes[process].calls[index]; }
  const Situation& situation(size_t process) const { return situations.of[process]; }
  int32_t rank(size_t process) const { return run.processes[process].rank(); }
  // When a call began and when it returned, on the run's axis; INT64_MAX: never.
  int64_t StartNs(size_t process, size_t call) const;
  int64_t EndNs(size_t process, size_t call) const;
  // Until when the recording says anything (Situations::end_ns), by the process's own clock.
  int64_t LastNs(size_t process) const { return timeline.Back(process, situations.end_ns); }
  // Index of the process that is `rank` of MPI_COMM_WORLD; kNoIndex if it was not traced.
  size_t ProcessOfRank(int32_t rank) const;

  // Call site as a number equal on all ranks; 0 if there is nothing to compare.
  uint64_t Site(size_t process, uint32_t stack);
  // The same of source lines, where they are known: a compiler may have made two sites of one line (jump threading,
  // unrolling). Reads debug information, so for the few calls that a rule looks at.
  uint64_t Place(size_t process, uint32_t stack);
  // "save() at solver.c:42"; "" if the stack says nothing.
  std::string Line(size_t process, size_t call);
  // Line of two calls, of one line told apart by how they came there: "send() at comm.c:7 by way of save() at io.c:42".
  std::pair<std::string, std::string> Lines(size_t process, size_t call, size_t peer, size_t peer_call);
  const StackView& View(size_t process, size_t call);
  bool CalledFromExit(size_t process, size_t call);
  // The event of a call, with communicator, sequence number and name filled in.
  BadEvent Event(size_t process, size_t call) const;
  // "MPI_Bcast(1142 × MPI_INT, root 0)".
  std::string Describe(size_t process, size_t call) const;
  // "in MPI_Recv from rank 2, called from halo() at …, for 12.3 s", "in its own code since …", "exited with code 1".
  std::string WhereIs(size_t process);
  // Why some frames have no function or line: one sentence a file.
  const std::vector<std::string>& symbol_caveats() const { return symbolizer_.caveats(); }
  // How long a call that never returned had been open when the recording ended.
  double OpenSeconds(size_t process, size_t call) const;

 private:
  std::string InPhase(size_t process);

  Symbolizer symbolizer_;
  StackViews views_;
  std::vector<std::unordered_map<uint32_t, uint64_t>> sites_;
  std::unordered_map<uint64_t, uint64_t> places_;  // by site
  std::unordered_map<int32_t, size_t> process_of_rank_;
};

// Rules: model → findings. Each looks at one kind of anomaly, prints nothing and knows no other rule.
std::vector<Finding> FindCpuContention(Context& context);  // why a rank was late
std::vector<Finding> FindFrozen(Context& context);
std::vector<Finding> FindIoStalls(Context& context);
std::vector<Finding> FindThrottled(Context& context);
std::vector<Finding> FindStartUp(Context& context);
std::vector<Finding> FindExceptions(Context& context);
std::vector<Finding> FindProcessEnds(Context& context);
std::vector<Finding> FindMismatches(Context& context);
std::vector<Finding> FindConcurrentCollectives(Context& context);
std::vector<Finding> FindMessageMismatches(Context& context);
std::vector<Finding> FindRequestLeaks(Context& context);
std::vector<Finding> FindTagOverflow(Context& context);
std::vector<Finding> FindDisplacements(Context& context);
std::vector<Finding> FindGroupOrder(Context& context);
std::vector<Finding> FindModifiedBuffers(Context& context);
std::vector<Finding> FindWaits(Context& context);         // missing ranks, cycles, stalls
std::vector<Finding> FindDeviceStalls(Context& context);  // entered everywhere, done nowhere
std::vector<Finding> FindNcclInit(Context& context);
std::vector<Finding> FindNcclMessages(Context& context);
std::vector<Finding> FindNcclErrors(Context& context);
std::vector<Finding> FindStreamMisuse(Context& context);
std::vector<Finding> FindNotTraced(Context& context);  // for a run in which nothing else was found
std::vector<Finding> FindUnmatched(Context& context);
std::vector<Finding> FindCommLeaks(Context& context);
std::vector<Finding> FindStaleWeights(Context& context);
std::vector<Finding> FindDuplicateData(Context& context);
std::vector<Finding> FindLeftChildren(Context& context);
std::vector<Finding> FindClockSteps(Context& context);
// Looked for where nothing else is wrong.
std::vector<Finding> FindSlowLinks(Context& context);
std::vector<Finding> FindStragglers(Context& context);
void NoteUnsafeSends(Context& context);  // of a run in which nothing else was found

}  // namespace ddbg::analyzer
