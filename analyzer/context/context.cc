#include "analyzer/context/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analyzer/model/call_fields.h"
#include "analyzer/model/comm_name.h"
#include "analyzer/model/describe.h"
#include "analyzer/steps/phases.h"

namespace ddbg::analyzer {

Context::Context(const Run& run)
    : run(run),
      matching(MatchCollectives(run)),
      messages(MatchMessages(run)),
      timeline(run, matching, messages),
      situations(Assess(run, timeline)),
      replay(PlayThrough(run, matching, situations)),
      steps(run, matching),
      roles(run, matching, steps),
      views_(&symbolizer_),
      sites_(run.processes.size()) {
  for (size_t i = 0; i < run.processes.size(); ++i)
    if (situations.of[i].communicates) process_of_rank_.try_emplace(run.processes[i].rank(), i);
  // One that has not communicated yet, and not a helper of a rank beside it.
  for (size_t i = 0; i < run.processes.size(); ++i)
    if (!run.processes[i].calls.empty()) process_of_rank_.try_emplace(run.processes[i].rank(), i);
}

int64_t Context::StartNs(size_t process, size_t call) const {
  return timeline.At(process, run.processes[process].calls[call].start_ns);
}

int64_t Context::EndNs(size_t process, size_t index) const {
  const Call& call = run.processes[process].calls[index];
  return call.open() ? INT64_MAX : timeline.At(process, call.start_ns + call.duration_ns);
}

size_t Context::ProcessOfRank(int32_t rank) const {
  auto found = process_of_rank_.find(rank);
  return found == process_of_rank_.end() ? kNoIndex : found->second;
}

uint64_t Context::Site(size_t process, uint32_t stack) {
  if (stack == 0) return 0;
  auto& sites = sites_[process];
  auto found = sites.find(stack);
  if (found == sites.end()) found = sites.emplace(stack, SiteKey(run.processes[process], stack)).first;
  return found->second;
}

uint64_t Context::Place(size_t process, uint32_t stack) {
  uint64_t site = Site(process, stack);
  auto [found, is_new] = places_.try_emplace(site, site);
  if (!is_new || site == 0) return found->second;
  std::string text;
  for (const Frame& frame : views_.Of(run.processes[process], stack).frames) {
    if (frame.line == 0) return site;
    text += fmt::format("{} {} {}\n", frame.function, frame.file, frame.line);
  }
  if (!text.empty()) found->second = std::hash<std::string>()(text) | 1;
  return found->second;
}

std::string Context::Line(size_t process, size_t call) {
  return call == kNoIndex ? "" : DescribeFrame(View(process, call).source_frame());
}

std::pair<std::string, std::string> Context::Lines(size_t process, size_t call, size_t peer, size_t peer_call) {
  std::string own = Line(process, call), theirs = Line(peer, peer_call);
  if (own != theirs || own.empty()) return {own, theirs};
  const StackView &left = View(process, call), &right = View(peer, peer_call);
  size_t l = static_cast<size_t>(left.source) + 1, r = static_cast<size_t>(right.source) + 1;
  for (; l < left.frames.size() && r < right.frames.size(); ++l, ++r) {
    std::string from = DescribeFrame(&left.frames[l]), other = DescribeFrame(&right.frames[r]);
    if (from != other) return {own + " by way of " + from, theirs + " by way of " + other};
  }
  return {own, theirs};
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
  event.t_ns = StartNs(process, call_index);
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
  return std::max(0.0, static_cast<double>(situations.end_ns - StartNs(process, call)) / 1e9);
}

// ", in phase checkpoint for 12.3 s, from save_checkpoint() at train.py:212"; "" if it is in none.
std::string Context::InPhase(size_t process) {
  int64_t at_ns = std::min(situations.of[process].until_ns, LastNs(process));
  std::optional<Phase> innermost;
  for (Phase& phase : PhasesOf(run.processes[process]))
    if (phase.start_ns <= at_ns && (phase.open || phase.end_ns > at_ns)) innermost = std::move(phase);
  if (!innermost || innermost->name.empty()) return "";
  std::string line = Line(process, innermost->begin);
  return fmt::format(", in phase {} for {:.1f} s{}", innermost->name,
                     static_cast<double>(at_ns - innermost->start_ns) / 1e9, line.empty() ? "" : ", from " + line);
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
  if (s.last_call == kNoIndex) return "before its first call" + InPhase(process) + end;
  std::string line = Line(process, s.last_call);
  double since = static_cast<double>(situations.end_ns - EndNs(process, s.last_call)) / 1e9;
  return fmt::format("in its own code for {:.1f} s{}, after {}{}{}", since < 0 ? 0.0 : since, InPhase(process),
                     Describe(process, s.last_call), line.empty() ? "" : " at " + line, end);
}

}  // namespace ddbg::analyzer
