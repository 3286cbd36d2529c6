#include "analyzer/context.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/call_fields.h"
#include "analyzer/comm_name.h"
#include "analyzer/describe.h"

namespace ddbg::analyzer {

Context::Context(const Run& run)
    : run(run),
      matching(MatchCollectives(run)),
      messages(MatchMessages(run)),
      situations(Assess(run)),
      replay(PlayThrough(run, matching, situations.hang_end_ns)),
      views_(&symbolizer_),
      sites_(run.processes.size()) {}

size_t Context::ProcessOfRank(int32_t rank) const {
  for (size_t i = 0; i < run.processes.size(); ++i)
    if (run.processes[i].rank() == rank && situations.of[i].communicates) return i;
  // One that has not communicated yet, and not a helper of a rank beside it.
  for (size_t i = 0; i < run.processes.size(); ++i)
    if (run.processes[i].rank() == rank && !run.processes[i].calls.empty()) return i;
  return kNoIndex;
}

uint64_t Context::Site(size_t process, uint32_t stack) {
  if (stack == 0) return 0;
  auto& sites = sites_[process];
  auto found = sites.find(stack);
  if (found == sites.end()) found = sites.emplace(stack, SiteKey(run.processes[process], stack)).first;
  return found->second;
}

std::string Context::Line(size_t process, size_t call) {
  return call == kNoIndex ? "" : DescribeFrame(View(process, call).source_frame());
}

const StackView& Context::View(size_t process, size_t call) {
  const Process& p = run.processes[process];
  return views_.Of(p, p.calls[call].stack);
}

bool Context::CalledFromExit(size_t process, size_t call) { return View(process, call).from_exit; }

BadEvent Context::Event(size_t process, size_t call_index) const {
  const Process& p = run.processes[process];
  BadEvent event;
  event.process = process;
  event.call = call_index;
  event.rank = p.rank();
  if (call_index == kNoIndex) return event;
  const Call& call = p.calls[call_index];
  event.call_name = CallName(p, call);
  event.t_ns = call.start_ns;
  auto comm = p.comms.find(call.comm);
  if (comm != p.comms.end()) {
    event.comm = CommName(p, call.comm);
    event.comm_uid = comm->second.uid;
  }
  if (FieldsOf(call).seq) event.seq = call.seq;
  return event;
}

std::string Context::Describe(size_t process, size_t call) const {
  return DescribeCall(run.processes[process], run.processes[process].calls[call]);
}

double Context::OpenSeconds(size_t process, size_t call) const {
  return std::max(0.0, static_cast<double>(situations.end_ns - run.processes[process].calls[call].start_ns) / 1e9);
}

std::string Context::WhereIs(size_t process) {
  const Process& p = run.processes[process];
  const Situation& s = situations.of[process];
  std::string end =
      s.end == EndCause::kNormal || s.end == EndCause::kFailed || s.end == EndCause::kOwn || s.end == EndCause::kUnknown
          ? ", " + DescribeEnd(p.end)
          : "";
  if (s.open_call != kNoIndex) {
    std::string line = Line(process, s.open_call);
    std::string from = CalledFromExit(process, s.open_call) ? ", called while the process exits" : "";
    return fmt::format("in {}{}{} for {:.1f} s{}", Describe(process, s.open_call),
                       line.empty() ? "" : " called from " + line, from, OpenSeconds(process, s.open_call), end);
  }
  if (s.finalized) return "past MPI_Finalize" + end;
  if (s.last_call == kNoIndex) return "before its first call" + end;
  std::string line = Line(process, s.last_call);
  const Call& last = p.calls[s.last_call];
  double since = static_cast<double>(situations.end_ns - last.start_ns - last.duration_ns) / 1e9;
  return fmt::format("in its own code for {:.1f} s, after {}{}{}", since < 0 ? 0.0 : since,
                     Describe(process, s.last_call), line.empty() ? "" : " at " + line, end);
}

}  // namespace ddbg::analyzer
