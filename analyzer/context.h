// What every rule gets: the run and what was derived from it, made once.
#pragma once

#include <string>

#include "analyzer/finding.h"
#include "analyzer/fingerprint.h"
#include "analyzer/match.h"
#include "analyzer/messages.h"
#include "analyzer/model.h"
#include "analyzer/replay.h"
#include "analyzer/situation.h"
#include "analyzer/stack_view.h"

namespace ddbg::analyzer {

class Context {
 public:
  explicit Context(const Run& run);

  const Run& run;
  Matching matching;
  Messages messages;
  Situations situations;
  Replay replay;  // of NCCL's work on streams, until the hang was ended

  const Process& process(size_t index) const { return run.processes[index]; }
  const Call& call(size_t process, size_t index) const { return run.processes[process].calls[index]; }
  const Situation& situation(size_t process) const { return situations.of[process]; }
  int32_t rank(size_t process) const { return run.processes[process].rank(); }
  // Index of the process that is `rank` of MPI_COMM_WORLD; kNoIndex if it was not traced.
  size_t ProcessOfRank(int32_t rank) const;

  // Call site as a number equal on all ranks; 0 if there is nothing to compare.
  uint64_t Site(size_t process, uint32_t stack);
  // "save() at solver.c:42"; "" if the stack says nothing.
  std::string Line(size_t process, size_t call);
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
  Symbolizer symbolizer_;
  StackViews views_;
  std::vector<std::unordered_map<uint32_t, uint64_t>> sites_;
};

// Rules: model → findings. Each looks at one kind of anomaly, prints nothing and knows no other rule.
std::vector<Finding> FindStartUp(Context& context);
std::vector<Finding> FindProcessEnds(Context& context);
std::vector<Finding> FindMismatches(Context& context);
std::vector<Finding> FindWaits(Context& context);         // missing ranks, cycles, stalls
std::vector<Finding> FindDeviceStalls(Context& context);  // entered everywhere, done nowhere
std::vector<Finding> FindNcclInit(Context& context);
std::vector<Finding> FindNcclMessages(Context& context);
std::vector<Finding> FindNcclErrors(Context& context);
std::vector<Finding> FindStreamMisuse(Context& context);
std::vector<Finding> FindUnmatched(Context& context);
std::vector<Finding> FindCommLeaks(Context& context);

}  // namespace ddbg::analyzer
