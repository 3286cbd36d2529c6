// Sends that ended only because the MPI buffered small messages (MPI 4.1, 3.5: an "unsafe" program): carries out what
// the ranks did once more, in the order of each thread, with sends that wait until their receive was called. Where that
// gets stuck in a circle, larger messages will. No fault of this run: a note.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>

#include "analyzer/context/context.h"
#include "analyzer/model/describe.h"
#include "proto/operations.h"

namespace ddbg::analyzer {
namespace {

// What begins again and again shows in the first of it.
constexpr size_t kMostCalls = 1'000'000;

struct Place {
  size_t process = kNoIndex, call = kNoIndex;
  bool operator==(const Place&) const = default;
};
struct PlaceHash {
  size_t operator()(const Place& place) const { return (place.process * 0x9e3779b97f4a7c15) ^ place.call; }
};

// A thread of a rank: its calls in order.
struct Actor {
  size_t process = 0;
  std::vector<size_t> calls;
  size_t next = 0;
  Place waits_for;        // begun by somebody else; kNoIndex: not known or nothing
  bool in_send = false;   // it would have to wait only if nothing is buffered
  bool from_any = false;  // another order of messages might do as well
  size_t at() const { return next < calls.size() ? calls[next] : kNoIndex; }
};

class StrictReplay {
 public:
  explicit StrictReplay(Context& context) : context_(context) {}

  void Run() {
    SetLimits();
    if (!AnySend() || !CollectPartners()) return;
    MakeActors();
    for (size_t i = 0; i < actors_.size(); ++i) Advance(i);
    while (!ready_.empty()) {
      size_t actor = ready_.front();
      ready_.pop_front();
      Advance(actor);
    }
    if (std::vector<size_t> circle = FindCircle(); !circle.empty()) Tell(circle);
  }

 private:
  void SetLimits() {
    size_t total = 1;
    for (const Process& process : context_.run.processes) total += process.calls.size();
    double share = std::min(1.0, static_cast<double>(kMostCalls) / static_cast<double>(total));
    for (const Process& process : context_.run.processes)
      limit_.push_back(static_cast<size_t>(share * static_cast<double>(process.calls.size())));
  }

  // Of a kind that may have to wait: without it nothing gets stuck that did not.
  bool AnySend() const {
    for (const Process& process : context_.run.processes)
      for (const Call& call : process.calls)
        if (call.known() && call.info().api == Api::Mpi && call.info().shape != CallShape::Buffered &&
            ddbg::DirectionOf(call.info(), call.op, call.flags) == Direction::kSend)
          return true;
    return false;
  }

  // False: there are no messages, or a part of them is not known.
  bool CollectPartners() {
    if (context_.messages.uncounted) return false;
    for (const Process& process : context_.run.processes)
      if (process.dropped.until_ns != 0 || process.lost_total() > 0 || !process.damage.empty()) return false;
    for (const auto& [channel, ends] : context_.messages.channels) {
      if (ends.nccl) continue;
      for (const End& send : ends.sends) {
        if (send.partner >= kPartnerDropped) continue;
        const End& receive = ends.receives[send.partner];
        Place from{send.process, send.call}, to{receive.process, receive.call};
        if (from.call >= limit_[from.process] || to.call >= limit_[to.process]) continue;
        partner_[from] = to;
        partner_[to] = from;
      }
    }
    return !partner_.empty();
  }

  void MakeActors() {
    for (size_t i = 0; i < context_.run.processes.size(); ++i) {
      const std::vector<Call>& calls = context_.process(i).calls;
      for (size_t c = 0; c < limit_[i]; ++c) {
        auto [entry, is_new] = actor_of_.try_emplace({i, calls[c].thread}, actors_.size());
        if (is_new) actors_.emplace_back().process = i;
        actors_[entry->second].calls.push_back(c);
      }
      begun_.emplace_back(calls.size(), false);
    }
  }

  void Advance(size_t index) {
    Actor& actor = actors_[index];
    for (; actor.at() != kNoIndex; ++actor.next) {
      Begin(actor);
      if (MustWait(&actor)) {
        waiting_[actor.waits_for].push_back(index);
        return;
      }
    }
    actor.waits_for = {};
  }

  // Both halves of a Sendrecv begin at once.
  void Begin(const Actor& actor) {
    size_t call = actor.at();
    MarkBegun({actor.process, call});
    const std::vector<Call>& calls = context_.process(actor.process).calls;
    if (call + 1 < calls.size() && (calls[call + 1].flags & kFlagSecondHalf)) MarkBegun({actor.process, call + 1});
  }

  void MarkBegun(const Place& place) {
    if (begun_[place.process][place.call]) return;
    begun_[place.process][place.call] = true;
    auto waiting = waiting_.find(place);
    if (waiting == waiting_.end()) return;
    for (size_t actor : waiting->second) ready_.push_back(actor);
    waiting_.erase(waiting);
  }

  bool HasBegun(const Place& place) const { return begun_[place.process][place.call]; }

  // True: `waits_for` says for what.
  bool MustWait(Actor* actor) {
    const Process& process = context_.process(actor->process);
    const Call& call = process.calls[actor->at()];
    actor->in_send = actor->from_any = false;
    if (call.open()) return false;
    if (call.call == kCallCompletion) return WaitsForOperation(actor, call.aux);
    if (!call.known() || call.info().api != Api::Mpi) return false;
    const CallInfo& info = call.info();
    if (info.has_request) return false;
    switch (info.kind) {
      case CallKind::Send: return info.shape != CallShape::Buffered && WaitsForPartner(actor, actor->at(), true);
      case CallKind::Recv: return WaitsForPartner(actor, actor->at(), false);
      case CallKind::Sendrecv: return WaitsForPartner(actor, actor->at(), (call.flags & kFlagSecondHalf) == 0);
      case CallKind::Wait:
        return info.shape == CallShape::One && (call.flags & kFlagNothingDone) == 0 &&
               WaitsForOperation(actor, call.aux);
      case CallKind::Collective: return WaitsForMembers(actor, call);
      default: return false;
    }
  }

  bool WaitsForPartner(Actor* actor, size_t call, bool sends) {
    auto partner = partner_.find({actor->process, call});
    if (partner == partner_.end() || HasBegun(partner->second)) return false;
    const Call& posted = context_.call(actor->process, call);
    actor->waits_for = partner->second;
    actor->in_send = sends;
    // What a blocking receive was posted with is in aux (kPostedAnySource of shim/mpi/moment.h).
    bool wild = posted.peer == kAnySource || posted.tag == kAnyTag || posted.info().kind == CallKind::Mrecv ||
                (posted.info().kind == CallKind::Recv && !PostsOperation(posted.info()) && posted.aux != 0);
    actor->from_any = !sends && wild;
    return true;
  }

  // Of several operations any may come first, and of a test nobody waits.
  bool WaitsForOperation(Actor* actor, uint64_t operation) {
    const auto& posted = context_.messages.posted[actor->process];
    auto post = posted.find(operation);
    if (post == posted.end()) return false;
    const Call& call = context_.call(actor->process, post->second);
    if (!call.known() || call.info().shape == CallShape::Buffered) return false;
    bool sends = ddbg::DirectionOf(call.info(), call.op, call.flags) == Direction::kSend;
    return WaitsForPartner(actor, post->second, sends);
  }

  // Only what no MPI can do without: all of a barrier and of what everybody's result needs, the root's part of the
  // rest.
  bool WaitsForMembers(Actor* actor, const Call& call) {
    const CommGroup* group = context_.matching.Group(UidOf(context_.process(actor->process), call));
    if (!group || group->inter) return false;
    int32_t root = -1;
    bool all = false;
    if (call.call == CallId(MpiCall::Scan) || call.call == CallId(MpiCall::Exscan)) return false;
    switch (call.info().shape) {
      case CallShape::Barrier:
      case CallShape::Allreduce:
      case CallShape::Allgather:
      case CallShape::Alltoall: all = call.count > 0 || call.info().shape == CallShape::Barrier; break;
      case CallShape::Bcast: root = call.peer; break;
      default: return false;
    }
    for (const Member& member : group->members) {
      if (member.process == actor->process || (!all && member.comm_rank != root)) continue;
      size_t theirs = member.At(call.seq);
      if (theirs == kNoIndex || HasBegun({member.process, theirs})) continue;
      actor->waits_for = {member.process, theirs};
      return true;
    }
    return false;
  }

  size_t AwaitedActor(const Actor& actor) const {
    if (actor.at() == kNoIndex || actor.waits_for.process == kNoIndex) return kNoIndex;
    auto found =
        actor_of_.find({actor.waits_for.process, context_.call(actor.waits_for.process, actor.waits_for.call).thread});
    return found == actor_of_.end() ? kNoIndex : found->second;
  }

  // Actors that wait for each other, and at least one of them in a send; empty if there are none, or chance may help.
  std::vector<size_t> FindCircle() const {
    std::vector<size_t> met(actors_.size(), kNoIndex);  // on the path from this actor
    for (size_t start = 0; start < actors_.size(); ++start) {
      std::vector<size_t> path;
      size_t at = start;
      for (; at != kNoIndex && met[at] == kNoIndex; at = AwaitedActor(actors_[at])) {
        met[at] = start;
        path.push_back(at);
      }
      if (at == kNoIndex || met[at] != start) continue;
      std::vector<size_t> circle(std::find(path.begin(), path.end(), at), path.end());
      bool any = std::any_of(circle.begin(), circle.end(), [&](size_t i) { return actors_[i].from_any; });
      bool sends = std::any_of(circle.begin(), circle.end(), [&](size_t i) { return actors_[i].in_send; });
      if (sends && !any) return circle;
    }
    return {};
  }

  void Tell(const std::vector<size_t>& circle) {
    std::vector<int32_t> ranks;
    const Actor* first = nullptr;
    for (size_t i : circle) {
      ranks.push_back(context_.rank(actors_[i].process));
      const Actor& actor = actors_[i];
      if (actor.in_send && (!first || context_.rank(actor.process) < context_.rank(first->process))) first = &actor;
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    std::string line = context_.Line(first->process, first->at());
    std::string awaited = context_.Line(first->waits_for.process, first->waits_for.call);
    context_.notes.push_back(fmt::format(
        "{} would hang with larger messages: {} of rank {}{} ended before rank {} came to {}{}, which only messages "
        "that "
        "are buffered do",
        RankList(ranks), context_.Describe(first->process, first->at()), context_.rank(first->process),
        line.empty() ? "" : " at " + line, context_.rank(first->waits_for.process),
        context_.Describe(first->waits_for.process, first->waits_for.call), awaited.empty() ? "" : " at " + awaited));
  }

  Context& context_;
  std::unordered_map<Place, Place, PlaceHash> partner_;
  std::vector<Actor> actors_;
  std::map<std::pair<size_t, uint32_t>, size_t> actor_of_;  // by process and thread
  std::vector<size_t> limit_;                               // by process: calls that are looked at
  std::vector<std::vector<bool>> begun_;                    // by process, by call
  std::unordered_map<Place, std::vector<size_t>, PlaceHash> waiting_;
  std::deque<size_t> ready_;
};

}  // namespace

void NoteUnsafeSends(Context& context) { StrictReplay(context).Run(); }

}  // namespace ddbg::analyzer
