#include "analyzer/context/situation.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>

#include "analyzer/load/liveness.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/exceptions.h"
#include "analyzer/model/losses.h"
#include "analyzer/model/told.h"

namespace ddbg::analyzer {
namespace {

// A signal to a whole job reaches its ranks in well under a millisecond; how long each then takes to die differs, by up
// to 140 ms on a busy node. Open MPI takes a job down a second after a first death, hydra within some 20 ms, by SIGKILL
// (all measured). So times tell little, and what the collector saw of the others at a first death comes first.
constexpr int64_t kTogetherNs = 300'000'000;

bool IsFromUser(int signal) { return signal == SIGINT || signal == SIGHUP || signal == SIGQUIT; }

bool IsFaultOfItsOwn(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGABRT ||
         signal == SIGSYS || signal == SIGTRAP;
}

bool IsOpenAt(const Call& call, int64_t t_ns) {
  return call.open() || (t_ns != INT64_MAX && call.start_ns + call.duration_ns > t_ns);
}

// `until_ns`: what begins then or later is not looked at, and what ends later counts as open.
Situation Look(const Process& process, int64_t until_ns) {
  Situation s;
  bool in_world = false;
  int sessions = 0;
  for (size_t i = 0; i < process.calls.size(); ++i) {
    const Call& call = process.calls[i];
    if (!call.known() || (call.flags & (kFlagSecondHalf | kFlagNested)) || IsMark(call)) continue;
    CallKind kind = call.info().kind;
    bool mpi = call.info().api == Api::Mpi;
    s.uses_nccl = s.uses_nccl || IsNccl(call);
    s.uses_gloo = s.uses_gloo || IsGloo(call);
    s.communicates = s.communicates || mpi || IsNccl(call) || IsGloo(call);
    if (mpi && !call.open()) {
      // Without MPI_Init the last session's end is that of MPI.
      if (kind == CallKind::Init || kind == CallKind::Finalize) in_world = kind == CallKind::Init;
      sessions += (kind == CallKind::SessionInit) - (kind == CallKind::SessionFinalize);
      s.finalized = s.finalized || kind == CallKind::Finalize ||
                    (kind == CallKind::SessionFinalize && sessions <= 0 && !in_world);
      s.initialized = s.initialized || kind != CallKind::Init || call.result == 0;
    }
    if (IsPoll(call) || call.start_ns >= until_ns) continue;
    if (IsOpenAt(call, until_ns)) {
      if (s.open_call == kNoIndex) s.open_call = i;
      bool last_session = kind == CallKind::SessionFinalize && sessions <= 1 && !in_world;
      s.in_finalize = s.in_finalize || kind == CallKind::Finalize || last_session;
    } else {
      s.last_call = i;
    }
  }
  return s;
}

bool IsBrokenState(const Call& call) {
  constexpr uint64_t kSuccess = 0, kInProgress = 7;
  return call.info().kind == CallKind::AsyncError && call.aux != kSuccess && call.aux != kInProgress;
}

// A watchdog ends its process by SIGABRT, or the program by itself once a wait has failed.
bool EndsItself(const Process& process) {
  const ProcessEnd& end = process.end;
  return (end.how == ProcessEnd::kExited && end.code != 0) || (end.how == ProcessEnd::kSignaled && end.code == SIGABRT);
}

// Had it waited for a while at `t_ns`, in a call or by asking again and again? Of a row of polls every record tells
// twice as many as the one before, so that the last may tell of half the time only.
bool WasWaiting(const Process& process, int64_t t_ns) {
  constexpr int64_t kAWhileNs = 3'000'000'000, kSlackNs = 1'000'000'000;
  for (const Call& call : process.calls) {
    if (call.start_ns > t_ns - kAWhileNs) break;
    if (!IsNccl(call) && !IsCuda(call) && !IsGloo(call)) continue;
    if (!IsPoll(call)) {
      if (call.open() || call.start_ns + call.duration_ns >= t_ns) return true;
    } else if ((call.flags & kFlagNothingDone) && !call.open() && call.info().kind != CallKind::AsyncError) {
      if (call.duration_ns >= kAWhileNs / 2 && call.start_ns + 2 * call.duration_ns + kSlackNs >= t_ns) return true;
    }
  }
  return false;
}

bool LearnedOfBreak(const Process& process) {
  return std::any_of(process.calls.begin(), process.calls.end(),
                     [](const Call& call) { return IsNccl(call) && IsBrokenState(call); });
}

// When an exception ended it that says of a peer that it is gone or has not come; INT64_MAX: none did.
int64_t GivesUpPeers(const Process& process) {
  for (const Exception& exception : ExceptionsOf(process))
    if (exception.in_main && exception.of_peers) return process.calls[exception.call].start_ns;
  return INT64_MAX;
}

// Of a process that aborted a communicator or learned that it is broken, and neither made a new one afterwards nor
// ended well: when. Or of one that ended itself after a wait, or for the loss of a peer.
int64_t HangEnd(const Process& process) {
  if (process.end.how == ProcessEnd::kExited && process.end.code == 0) return INT64_MAX;
  int64_t first = INT64_MAX;
  bool stuck = false, any = false;
  for (const Call& call : process.calls) {
    any = any || IsGloo(call);
    if (!IsNccl(call)) continue;
    any = true;
    CallKind kind = call.info().kind;
    if (kind == CallKind::CommInit && !call.open() && Accepted(call)) first = INT64_MAX, stuck = false;
    if (kind != CallKind::CommAbort && !IsBrokenState(call)) continue;
    first = std::min(first, call.start_ns);
    stuck = stuck || IsBrokenState(call) || call.open();
  }
  // Still there: an abort that returned may belong to a job that goes on.
  if (process.end.how == ProcessEnd::kRunning && !stuck) return INT64_MAX;
  if (any && EndsItself(process) && WasWaiting(process, process.end.t_ns)) first = std::min(first, process.end.t_ns);
  return std::min(first, GivesUpPeers(process));
}

// The record of its MPI_Finalize may be among those that were lost.
bool IsNormal(const Process& process, const Situation& s) {
  return process.end.how == ProcessEnd::kExited && process.end.code == 0 &&
         (s.finalized || !s.initialized || LacksCalls(process));
}

bool IsFailedAfterFinalize(const Process& process, const Situation& s) {
  return process.end.how == ProcessEnd::kExited && s.finalized;
}

struct Death {
  size_t process;
  int64_t t_ns;
  bool signaled;
  int code;
};

// A first sign may be seen late: a core is dumped, files are closed one by one on a busy node. By then the launcher may
// have killed others, who were seen first.
constexpr int64_t kSeenLateNs = 100'000'000;

// May the launcher have done this after another's end? Not if all others were unharmed when it was seen.
bool MayBeLaunchersDoing(const ProcessEnd& end) {
  return end.how == ProcessEnd::kSignaled && (end.code == SIGKILL || end.code == SIGTERM) && !end.went_alone();
}

// A fault of its own that no peer's death brings about. Of others that may follow a peer's (an abort, an exit on an
// error of communication) it is known only where the collector saw somebody go down before who is now taken for first.
bool ComesFirst(const ProcessEnd& end, const std::string& host, const Process& seen_first) {
  bool crashed = end.how == ProcessEnd::kSignaled && IsFaultOfItsOwn(end.code) && end.code != SIGABRT;
  bool saw_another = seen_first.end.peers_running < seen_first.end.peers && seen_first.host == host;
  return crashed || (saw_another && !MayBeLaunchersDoing(end));
}

// When a process first told, by its exit code after MPI_Finalize, that its program had failed: launchers then end the
// rest.
int64_t FirstFailureNs(const Run& run, const Timeline& timeline, const Situations& all) {
  int64_t first = INT64_MAX;
  for (size_t i = 0; i < run.processes.size(); ++i)
    if (!IsNormal(run.processes[i], all.of[i]) && IsFailedAfterFinalize(run.processes[i], all.of[i]))
      first = std::min(first, timeline.At(i, run.processes[i].end.t_ns));
  return first;
}

std::vector<Death> AbnormalDeaths(const Run& run, const Timeline& timeline, const Situations& all) {
  std::vector<Death> deaths;
  int64_t failure_ns = FirstFailureNs(run, timeline, all) - kSeenLateNs;
  for (size_t i = 0; i < run.processes.size(); ++i) {
    const Process& process = run.processes[i];
    const ProcessEnd& end = process.end;
    if (end.how == ProcessEnd::kRunning || end.how == ProcessEnd::kGone) continue;
    if (IsNormal(process, all.of[i]) || IsFailedAfterFinalize(process, all.of[i])) continue;
    if (MayBeLaunchersDoing(end) && timeline.At(i, end.t_ns) >= failure_ns) continue;
    deaths.push_back({i, timeline.At(i, end.t_ns), end.how == ProcessEnd::kSignaled, end.code});
  }
  // Who called MPI_Abort comes first, however the launcher then ended it.
  auto aborted = [&](const Death& death) { return run.processes[death.process].end.abort_called; };
  std::stable_sort(deaths.begin(), deaths.end(), [&](const Death& a, const Death& b) {
    return aborted(a) != aborted(b) ? aborted(a) : a.t_ns < b.t_ns;
  });
  if (deaths.empty() || !MayBeLaunchersDoing(run.processes[deaths[0].process].end) || aborted(deaths[0])) return deaths;
  const Process& seen_first = run.processes[deaths[0].process];
  auto cause = std::find_if(deaths.begin(), deaths.end(), [&](const Death& death) {
    const Process& process = run.processes[death.process];
    return death.t_ns - deaths[0].t_ns <= kSeenLateNs && ComesFirst(process.end, process.host, seen_first);
  });
  if (cause != deaths.end()) std::rotate(deaths.begin(), cause, cause + 1);
  return deaths;
}

// 128 + N as an exit code is how a shell tells of a signal; MPI libraries exit with numbers of their own above 128.
int SignalOf(const Death& death) {
  if (death.signaled) return death.code;
  int signal = death.code - 128;
  return IsFromUser(signal) || signal == SIGTERM || signal == SIGKILL ? signal : 0;
}

// In one call for long when it ended. Who is killed then was no part of what had gone wrong before; and one who kills
// them all, a launcher at Ctrl-C among them, may be interrupted between the first and the second.
bool WasStuck(const Process& process, const Situation& s) {
  constexpr int64_t kLongNs = 1'000'000'000;
  return s.open_call != kNoIndex && process.end.t_ns - process.calls[s.open_call].start_ns >= kLongNs;
}

// Everyone who was still there died by the same signal at about the same time.
bool IsStopFromOutside(const Run& run, const Situations& all, const std::vector<Death>& deaths) {
  size_t there = 0;
  for (size_t i = 0; i < run.processes.size(); ++i)
    if (!IsNormal(run.processes[i], all.of[i]) && !IsFailedAfterFinalize(run.processes[i], all.of[i])) ++there;
  if (deaths.empty() || deaths.size() < there) return false;
  // One of them asked for the end of all.
  for (const Death& death : deaths)
    if (run.processes[death.process].end.abort_called) return false;
  int signal = SignalOf(deaths[0]);
  for (const Death& death : deaths)
    if (SignalOf(death) != signal || signal == 0 || IsFaultOfItsOwn(signal)) return false;
  if (IsFromUser(signal)) return true;
  if (deaths.size() == 1) return run.processes.size() == 1 && signal != SIGKILL;
  const ProcessEnd& first = run.processes[deaths[0].process].end;
  if (first.went_alone() && !WasStuck(run.processes[deaths[0].process], all.of[deaths[0].process])) return false;
  if (first.peers > 0 && first.peers_running == 0) return true;
  return deaths.back().t_ns - deaths[0].t_ns <= kTogetherNs;
}

}  // namespace

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : fmt::format("signal {}", signal);
}

std::string DescribeEnd(const ProcessEnd& end) {
  switch (end.how) {
    case ProcessEnd::kRunning: return "still running";
    case ProcessEnd::kExited: return fmt::format("exited with code {}", end.code);
    case ProcessEnd::kSignaled: return "ended by " + SignalName(end.code);
    case ProcessEnd::kGone: break;
  }
  return "gone, nobody saw how";
}

Situations Assess(const Run& run, const Timeline& timeline) {
  Situations all;
  for (size_t i = 0; i < run.processes.size(); ++i)
    all.hang_end_ns = std::min(all.hang_end_ns, timeline.At(i, HangEnd(run.processes[i])));
  for (size_t i = 0; i < run.processes.size(); ++i) {
    int64_t until_ns = timeline.Back(i, all.hang_end_ns);
    all.of.push_back(Look(run.processes[i], until_ns));
    all.of.back().until_ns = until_ns;
  }
  std::vector<Death> deaths = AbnormalDeaths(run, timeline, all);
  all.stopped_from_outside = IsStopFromOutside(run, all, deaths);
  if (all.stopped_from_outside)
    all.stop = fmt::format("{} {} ended by {} within {:.0f} ms", deaths.size() == 1 ? "the one rank was" : "all",
                           deaths.size() == 1 ? "" : fmt::format("{} ranks were", deaths.size()),
                           SignalName(SignalOf(deaths[0])), (deaths.back().t_ns - deaths[0].t_ns) / 1e6);
  for (size_t i = 0; i < run.processes.size(); ++i) {
    const Process& process = run.processes[i];
    Situation& s = all.of[i];
    if (process.end.how == ProcessEnd::kRunning)
      s.end = EndCause::kRunning;
    else if (process.end.how == ProcessEnd::kGone)
      s.end = EndCause::kUnknown;
    else if (IsNormal(process, s))
      s.end = EndCause::kNormal;
    else if (IsFailedAfterFinalize(process, s))
      s.end = EndCause::kFailed;
    else if (all.stopped_from_outside)
      s.end = EndCause::kStopped;
    else
      s.end = !deaths.empty() && deaths[0].process == i ? EndCause::kOwn : EndCause::kFollowed;
    bool ended = process.end.how == ProcessEnd::kExited || process.end.how == ProcessEnd::kSignaled;
    bool waited = (s.uses_nccl || s.uses_gloo) && WasWaiting(process, std::min(s.until_ns, process.end.t_ns));
    s.gave_up = EndsItself(process) && (waited || LearnedOfBreak(process) || GivesUpPeers(process) != INT64_MAX);
    s.joins = !EventsTold(process, "joining").empty();
    s.outlived_hang = all.hang_ended() && (!ended || process.end.t_ns >= s.until_ns);
    all.end_ns = std::max(all.end_ns, timeline.At(i, process.last_seen_ns));
    // Nothing is written while nothing happens. Without a collector nothing is written either, and that says nothing.
    int64_t followed_ns = s.end == EndCause::kRunning ? FollowedUntil(process) : 0;
    if (followed_ns > 0) all.end_ns = std::max(all.end_ns, timeline.At(i, followed_ns));
  }
  if (!deaths.empty()) all.end_ns = deaths[0].t_ns;
  all.end_ns = std::min(all.end_ns, all.hang_end_ns);
  return all;
}

}  // namespace ddbg::analyzer
