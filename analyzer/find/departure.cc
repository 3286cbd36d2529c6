#include "analyzer/find/departure.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "analyzer/find/path.h"
#include "analyzer/find/stray.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/comm_name.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kRanks = 24;     // that are compared, the culprits among them
constexpr size_t kBefore = 1000;  // collectives of one communicator before the place that shows
constexpr size_t kAhead = 128;    // steps of a path that are foreseen

struct Departure {
  size_t process = kNoIndex;
  std::vector<int32_t> ranks;  // that went this way, ascending
  size_t at = 0;               // step
  Turn turn;
  bool precedented = false;  // the others went where somebody had gone before
  const Path *own = nullptr, *model = nullptr;
};

// Of a member's calls those that stayed when the detail around them was dropped begin no path.
size_t FirstInDetail(const Context& context, const Member& member) {
  int64_t until_ns = context.process(member.process).dropped.until_ns;
  size_t first = member.calls.first();
  auto is_kept = [&](size_t seq) {
    return member.At(seq) == kNoIndex || context.call(member.process, member.At(seq)).start_ns < until_ns;
  };
  while (until_ns > 0 && first < member.calls.size() && is_kept(first)) ++first;
  return first;
}

size_t FirstCommon(const Context& context, const CommGroup& group) {
  size_t shortest = group.longest, from = 0;
  for (const Member& member : group.members) {
    shortest = std::min(shortest, member.calls.size());
    from = std::max(from, FirstInDetail(context, member));
  }
  return std::max(from, shortest > kBefore ? shortest - kBefore : 0);
}

// Some member has dropped its detail up to where another one's calls end.
bool HasNoCommonDetail(const Context& context, const CommGroup& group) {
  return std::any_of(group.members.begin(), group.members.end(), [&](const Member& member) {
    return context.process(member.process).dropped.until_ns > 0 &&
           FirstInDetail(context, member) >= member.calls.size();
  });
}

// Where all paths begin: one collective of a communicator that all of them are in.
const CommGroup* CommonGroup(const Context& context, const std::set<size_t>& processes) {
  const CommGroup* best = nullptr;
  for (const CommGroup& group : context.matching.groups) {
    std::set<size_t> members;
    for (const Member& member : group.members) members.insert(member.process);
    bool all = members.size() == group.members.size() &&  // one device a process
               std::includes(members.begin(), members.end(), processes.begin(), processes.end());
    if (!all || group.longest == 0 || HasNoCommonDetail(context, group)) continue;
    if (!best || group.members.size() > best->members.size()) best = &group;
  }
  return best;
}

// The communicator of `process` that stands for another's: the same, or the one that was made beside it.
const Communicator* CounterpartOf(const Process& process, const Communicator& theirs) {
  const Communicator* beside = nullptr;
  for (const auto& [id, comm] : process.comms) {
    if (comm.uid == theirs.uid) return &comm;
    if (comm.parent_uid == theirs.parent_uid && comm.creation_index == theirs.creation_index &&
        comm.kind == theirs.kind && theirs.parent_uid != 0)
      beside = &comm;
  }
  return beside;
}

// Is there one at all? For a communicator without a parent another one of the same size will do, which its owner is not
// in: which of several it is cannot be told.
bool HasCounterpart(const Process& process, const Communicator& theirs, const Process& owner) {
  if (CounterpartOf(process, theirs)) return true;
  if (theirs.parent_uid != 0) return false;
  return std::any_of(process.comms.begin(), process.comms.end(), [&](const auto& entry) {
    const Communicator& comm = entry.second;
    bool alike = comm.parent_uid == 0 && comm.size == theirs.size && comm.kind == theirs.kind;
    return alike && std::none_of(owner.comms.begin(), owner.comms.end(),
                                 [&](const auto& own) { return own.second.uid == comm.uid; });
  });
}

// Communicators of a process for which some of the others have none: what is called there is no part of a common path.
std::unordered_set<uint32_t> OwnComms(const Context& context, size_t process, const std::vector<size_t>& others) {
  std::unordered_set<uint32_t> own;
  const Process& p = context.process(process);
  for (const auto& [id, comm] : p.comms)
    if (std::any_of(others.begin(), others.end(),
                    [&](size_t other) { return !HasCounterpart(context.process(other), comm, p); }))
      own.insert(id);
  return own;
}

std::vector<Path> PathsOf(Context& context, const std::set<size_t>& culprits, bool messages) {
  const CommGroup* group = CommonGroup(context, culprits);
  if (!group) return {};
  size_t from = FirstCommon(context, *group);
  std::vector<const Member*> compared;
  std::vector<size_t> ranks;
  size_t others = 0, stride = std::max<size_t>(1, group->members.size() / kRanks);
  for (size_t m = 0; m < group->members.size(); ++m) {
    const Member& member = group->members[m];
    if (!culprits.count(member.process) && (m % stride != 0 || ++others > kRanks)) continue;
    if (member.At(from) == kNoIndex) continue;
    compared.push_back(&member);
    ranks.push_back(member.process);
  }
  std::vector<Path> paths;
  for (const Member* member : compared) {
    Path path = PathOf(context, member->process, member->At(from), messages, OwnComms(context, member->process, ranks));
    if (path.steps.empty()) return {};
    paths.push_back(std::move(path));
  }
  return paths;
}

// Has anybody gone from step `at - 1` to the one of `path` before?
bool WentBefore(const std::vector<Path>& paths, const Path& path, size_t at) {
  for (const Path& each : paths)
    for (size_t i = 1; i < std::min(at, each.steps.size()); ++i)
      if (each.steps[i - 1].Same(path.steps[at - 1]) && each.steps[i].Same(path.steps[at])) return true;
  return false;
}

std::optional<Departure> FindDeparture(Context& context, const std::vector<Path>& paths) {
  size_t at = kNoIndex, left = 0, right = 0;
  for (size_t i = 0; i < paths.size(); ++i)
    for (size_t j = i + 1; j < paths.size(); ++j) {
      size_t parting = PartingOf(paths[i], paths[j]);
      if (parting < at) at = parting, left = i, right = j;
    }
  if (at == kNoIndex || at == 0) return std::nullopt;
  std::vector<size_t> went_left, went_right;
  bool all_known = true;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].steps.size() <= at)
      all_known = false;
    else if (PartingOf(paths[i], paths[left]) > at)
      went_left.push_back(i);
    else if (PartingOf(paths[i], paths[right]) > at)
      went_right.push_back(i);
  }
  if (went_left.size() == went_right.size()) {
    if (!all_known) return std::nullopt;  // who is still to come decides
    bool left_known = WentBefore(paths, paths[left], at), right_known = WentBefore(paths, paths[right], at);
    if (left_known == right_known) return std::nullopt;
    if (left_known) std::swap(went_left, went_right);
  } else if (went_left.size() > went_right.size()) {
    std::swap(went_left, went_right);
  }
  Departure departure;
  departure.at = at;
  departure.own = &paths[went_left[0]];
  departure.process = departure.own->process;
  for (size_t i : went_left) departure.ranks.push_back(context.rank(paths[i].process));
  std::sort(departure.ranks.begin(), departure.ranks.end());
  departure.model = &paths[went_right[0]];
  for (size_t i : went_right)
    if (paths[i].steps.size() > departure.model->steps.size()) departure.model = &paths[i];
  departure.turn = CompareWith(departure.own->steps, at, Expected(*departure.model, at, kAhead));
  departure.precedented = WentBefore(paths, *departure.model, at);
  return departure;
}

const Communicator* Counterpart(const Context& context, const Departure& departure, const Call& call) {
  const Process& model = context.process(departure.model->process);
  return CounterpartOf(context.process(departure.process), model.comms.at(call.comm));
}

// How many collectives the process had made there when it left the path.
int64_t NextSeq(const Context& context, size_t index, size_t end, const Communicator& comm) {
  const Process& process = context.process(index);
  int64_t next = 0;
  for (size_t i = 0; i < end; ++i) {
    const Call& call = process.calls[i];
    if (call.known() && IsCollective(call) && call.comm == comm.id) next = int64_t{call.seq} + 1;
  }
  return next;
}

std::string At(const Context& context, size_t process, size_t call, const std::string& line) {
  return context.Describe(process, call) + (line.empty() ? "" : " at " + line);
}

// The event is the call that was not made.
void MoveToExpected(const Context& context, const Departure& departure, const Call& call, BadEvent* first) {
  const Communicator* comm = Counterpart(context, departure, call);
  if (!comm) return;
  first->comm = CommName(context.process(departure.process), comm->id);
  first->comm_uid = comm->uid;
  first->seq = NextSeq(context, departure.process, departure.own->steps[departure.at].call, *comm);
  first->call_name = CallName(context.process(departure.model->process), call);
}

void Move(Context& context, const Departure& departure, Finding* finding) {
  const PathStep &own = departure.own->steps[departure.at], &theirs = departure.model->steps[departure.at];
  size_t peer = departure.model->process;
  const Call& call = context.call(peer, theirs.call);
  BadEvent first = context.Event(departure.process, own.call);
  first.field = "call";
  first.actual = context.Describe(departure.process, own.call);
  first.expected = context.Describe(peer, theirs.call);
  std::string who = RankList(departure.ranks);
  auto [own_line, their_line] = context.Lines(departure.process, own.call, peer, theirs.call);
  std::string turn =
      fmt::format("{} called {}, where its peers called {}", who, At(context, departure.process, own.call, own_line),
                  At(context, peer, theirs.call, their_line));
  std::string calls = fmt::format("{} collective{}", departure.turn.length, departure.turn.length == 1 ? "" : "s");
  std::string before = finding->summary, kind = finding->kind;
  switch (departure.turn.how) {
    case How::kLeftOut: {
      kind = "missing_collective";
      turn += fmt::format(": it left out {}", calls);
      MoveToExpected(context, departure, call, &first);
      break;
    }
    case How::kTooMany:
      kind = "collective_mismatch";
      turn += fmt::format(": it made {} more than they did", calls);
      break;
    case How::kOtherOrder: turn += ": it went another order"; break;
    case How::kElsewhere:
      if (finding->proof != Proof::kCycle) break;
      kind = "collective_mismatch";
      // Without a turn before, what its peers are in and it is not is certain, and what its own call belongs to is not.
      if (!departure.precedented) MoveToExpected(context, departure, call, &first);
      break;
  }
  bool there_already = finding->first.process == first.process && finding->first.comm_uid == first.comm_uid &&
                       finding->first.seq == first.seq && finding->proof == Proof::kMismatch;
  if (there_already) return;
  finding->kind = kind;
  finding->failure_class.clear();
  finding->evidence.insert(finding->evidence.begin(), "what came of it: " + before);
  finding->first = first;
  finding->summary = turn + ".";
  finding->culprit_ranks = departure.ranks;
  finding->proof = Proof::kMismatch;
  finding->confidence = std::min(finding->confidence, 0.9);
}

// Who holds a window's lock is known, and no path of collectives says more of that.
bool IsOfLocks(const Context& context, const Finding& finding) {
  if (finding.first.process == kNoIndex || finding.first.call == kNoIndex) return false;
  const Call& call = context.call(finding.first.process, finding.first.call);
  if (!call.known()) return false;
  CallKind kind = call.info().kind;
  return kind == CallKind::Lock || kind == CallKind::Unlock || kind == CallKind::Flush || kind == CallKind::Rma;
}

// Is it a matter of who called what at all?
bool IsOutOfStep(const Context& context, const Finding& finding) {
  if (finding.first.process == kNoIndex || finding.first.comm_uid == 0) return false;
  if (finding.proof == Proof::kCycle) return !IsOfLocks(context, finding);
  return finding.proof == Proof::kMismatch && finding.kind != "group_creation_mismatch";
}

// A difference in an argument alone is one of the call, unless what follows shows that it was not the same call.
bool Stands(const Departure& departure, const Finding& finding) {
  bool same_place = departure.own->steps[departure.at].SamePlace(departure.model->steps[departure.at]);
  if (same_place && departure.turn.how == How::kElsewhere) return false;
  bool argument = finding.kind == "argument_mismatch";
  return !argument || departure.turn.how == How::kLeftOut || departure.turn.how == How::kTooMany;
}

bool ExplainByPeers(Context& context, const std::set<size_t>& culprits, Finding* finding) {
  std::vector<Path> paths = PathsOf(context, culprits, false);
  if (paths.size() < 2) return false;
  std::optional<Departure> departure = FindDeparture(context, paths);
  if (!departure || !Stands(*departure, *finding)) return false;
  // A way that was gone after the fault is one of its consequences.
  if (context.StartNs(departure->process, departure->own->steps[departure->at].call) > finding->first.t_ns &&
      finding->proof == Proof::kMismatch && finding->first.process != departure->process)
    return false;
  Move(context, *departure, finding);
  return true;
}

void ExplainByPast(Context& context, const std::set<size_t>& culprits, Finding* finding) {
  std::vector<Path> paths = PathsOf(context, culprits, true);
  std::optional<Stray> stray = FindStray(context, paths);
  if (!stray) return;
  size_t process = paths[stray->path].process;
  const PathStep& own = paths[stray->path].steps[stray->at];
  size_t model = paths[stray->expected_path].process;
  const Call& before = context.call(model, stray->turn.expected.call);
  bool message = !IsCollective(before);
  BadEvent first = context.Event(process, own.call);
  first.field = "call";
  first.actual = context.Describe(process, own.call);
  first.expected = context.Describe(model, stray->turn.expected.call);
  std::string calls = fmt::format("{} call{}", stray->turn.length, stray->turn.length == 1 ? "" : "s");
  std::string how = ", and nobody else ever went that way";
  finding->kind = "collective_mismatch";
  if (stray->turn.how == How::kLeftOut) {
    how = fmt::format(": it left out {}", calls);
    const Communicator& comm = context.process(process).comms.at(before.comm);
    first.comm = CommName(context.process(process), comm.id);
    first.comm_uid = comm.uid;
    first.call_name = CallName(context.process(process), before);
    first.seq = message ? -1 : NextSeq(context, process, own.call, comm);
    finding->kind = message ? "p2p_unmatched" : "missing_collective";
  } else if (stray->turn.how == How::kTooMany) {
    how = fmt::format(": it made {} more than before", calls);
    if (!IsCollective(context.call(process, own.call))) finding->kind = "p2p_unmatched";
  }
  finding->evidence.insert(finding->evidence.begin(), "what came of it: " + finding->summary);
  auto [own_line, model_line] = context.Lines(process, own.call, model, stray->turn.expected.call);
  finding->summary = fmt::format("Rank {} called {}, where {} called {}{}.", context.rank(process),
                                 At(context, process, own.call, own_line),
                                 model == process ? "in earlier turns it" : fmt::format("rank {}", context.rank(model)),
                                 At(context, model, stray->turn.expected.call, model_line), how);
  finding->first = first;
  finding->culprit_ranks = {context.rank(process)};
  finding->proof = Proof::kMismatch;
  finding->confidence = std::min(finding->confidence, 0.85);
}

}  // namespace

void ExplainByPath(Context& context, Finding* finding) {
  if (!IsOutOfStep(context, *finding)) return;
  std::set<size_t> culprits;
  for (int32_t rank : finding->culprit_ranks)
    if (size_t process = context.ProcessOfRank(rank); process != kNoIndex && culprits.size() < kRanks)
      culprits.insert(process);
  if (!culprits.empty() && !ExplainByPeers(context, culprits, finding) && finding->proof == Proof::kCycle)
    ExplainByPast(context, culprits, finding);
}

}  // namespace ddbg::analyzer
