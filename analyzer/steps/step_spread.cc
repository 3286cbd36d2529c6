#include "analyzer/steps/step_spread.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/steps/step_calls.h"

namespace ddbg::analyzer {
namespace {

// What events whose turn is known say of the edges of a process: edge k is at least low[k] and at most high[k].
struct Bounds {
  std::vector<size_t> low, high;
  size_t pinned = 0;  // turns with an event

  explicit Bounds(size_t edges) : low(edges, 0), high(edges, kNoIndex) {}

  // `turn` −1: before all of them.
  void Add(size_t call, ptrdiff_t turn) {
    size_t next = static_cast<size_t>(turn + 1);
    // What the other process did after its last turn may have been another turn here.
    if (next >= low.size()) return;
    pinned += turn >= 0 && low[next] == 0;
    low[next] = std::max(low[next], call + 1);
    if (turn >= 0) high[static_cast<size_t>(turn)] = std::min(high[static_cast<size_t>(turn)], call);
  }

  void Settle() {
    for (size_t k = 1; k < low.size(); ++k) low[k] = std::max(low[k], low[k - 1]);
    for (size_t k = high.size() - 1; k-- > 0;) high[k] = std::min(high[k], high[k + 1]);
  }
};

// Turns of the calls of a process, asked in ascending order of calls mostly.
class TurnOf {
 public:
  explicit TurnOf(const TurnEdges& edges) : edges_(edges) {}

  ptrdiff_t operator()(size_t call) {
    if (next_ > 0 && edges_[next_ - 1] > call) next_ = 0;
    while (next_ < edges_.size() && edges_[next_] <= call) ++next_;
    return static_cast<ptrdiff_t>(next_) - 1;
  }

 private:
  const TurnEdges& edges_;
  size_t next_ = 0;
};

class Spreader {
 public:
  Spreader(const Run& run, const Matching& matching, const TurnEnd& end, std::vector<TurnEdges>* edges)
      : run_(run), matching_(matching), end_(end), edges_(*edges) {
    for (const TurnEdges& known : edges_) count_ = std::max(count_, known.size());
  }

  void Spread() {
    if (count_ < 2) return;
    while (Settle(kDense) || (AddMessages(), Settle(kDense)) || Settle(0.0)) {
    }
  }

 private:
  // Share of the turns of a process that must be pinned by an event of their own. With less there may be better to
  // come, by messages or from a process nearer by.
  static constexpr double kDense = 0.8;

  bool Known(size_t process) const { return !edges_[process].empty(); }

  Bounds& BoundsOf(size_t process) { return bounds_.try_emplace(process, count_).first->second; }

  // Each group speaks once, as soon as a member of it is known: what is in a turn on one member is in it on all.
  void AddGroups() {
    told_.resize(matching_.groups.size());
    for (size_t g = 0; g < matching_.groups.size(); ++g) {
      const CommGroup& group = matching_.groups[g];
      auto known =
          std::find_if(group.members.begin(), group.members.end(), [&](const Member& m) { return Known(m.process); });
      if (told_[g] || known == group.members.end()) continue;
      told_[g] = true;
      std::vector<ptrdiff_t> turn_of(known->calls.size());
      TurnOf turn(edges_[known->process]);
      for (size_t seq = 0; seq < turn_of.size(); ++seq)
        turn_of[seq] = known->calls[seq] == kNoIndex ? kUnknownTurn : turn(known->calls[seq]);
      for (const Member& member : group.members) {
        if (Known(member.process)) continue;
        Bounds& bounds = BoundsOf(member.process);
        for (size_t seq = 0; seq < std::min(turn_of.size(), member.calls.size()); ++seq)
          if (member.calls[seq] != kNoIndex && turn_of[seq] != kUnknownTurn)
            bounds.Add(member.calls[seq], turn_of[seq]);
      }
    }
  }

  struct Pair {
    uint64_t comm_uid;
    int32_t source, destination;
    auto operator<=>(const Pair&) const = default;
  };
  struct PairCalls {
    std::vector<std::pair<size_t, size_t>> sends, receives;  // process, call
  };

  // Where collectives do not tell: pipelines, exchanges between neighbours. Each pair speaks once.
  void AddMessages() {
    bool all = true;
    for (size_t i = 0; i < edges_.size(); ++i) all = all && (Known(i) || run_.processes[i].calls.empty());
    if (all) return;
    if (!has_pairs_) FindPairs();
    has_pairs_ = true;
    for (auto pair = pairs_.begin(); pair != pairs_.end();) {
      const PairCalls& calls = pair->second;
      bool one_sided = calls.sends.empty() || calls.receives.empty();
      if (!one_sided && !Known(calls.sends[0].first) && !Known(calls.receives[0].first)) {
        ++pair;
        continue;
      }
      if (!one_sided) AddPair(calls);
      pair = pairs_.erase(pair);
    }
  }

  void AddPair(const PairCalls& calls) {
    bool from_sender = Known(calls.sends[0].first);
    const auto& known = from_sender ? calls.sends : calls.receives;
    const auto& other = from_sender ? calls.receives : calls.sends;
    if (Known(other[0].first)) return;
    TurnOf turn(edges_[known[0].first]);
    Bounds& bounds = BoundsOf(other[0].first);
    for (size_t k = 0; k < std::min(known.size(), other.size()); ++k)
      bounds.Add(other[k].second, turn(known[k].second));
  }

  void FindPairs() {
    for (size_t i = 0; i < run_.processes.size(); ++i) {
      const Process& process = run_.processes[i];
      for (size_t c = 0; c < process.calls.size(); ++c) {
        const Call& call = process.calls[c];
        if (!call.known() || call.peer < 0) continue;
        CallKind kind = call.info().kind;
        bool second = call.flags & kFlagSecondHalf;
        bool sends = kind == CallKind::Send || (kind == CallKind::Sendrecv && !second) ||
                     (kind == CallKind::Start && call.op == 1);
        bool receives = kind == CallKind::Recv || (kind == CallKind::Sendrecv && second) || kind == CallKind::Mrecv ||
                        (kind == CallKind::Start && call.op == 2);
        auto comm = process.comms.find(call.comm);
        if ((!sends && !receives) || comm == process.comms.end()) continue;
        int32_t own = comm->second.rank, peer = PeerIn(comm->second, call.peer);
        if (peer < 0 || peer == own) continue;
        PairCalls& pair = pairs_[{comm->second.uid, sends ? own : peer, sends ? peer : own}];
        (sends ? pair.sends : pair.receives).emplace_back(i, c);
      }
    }
  }

  // Those with at least `density`, or, of 0, those that come next to it. False: there are none.
  bool Settle(double density) {
    AddGroups();
    double best = 0.0;
    for (const auto& [process, bounds] : bounds_) best = std::max(best, Density(bounds));
    if (best < density || best == 0.0) return false;
    std::vector<size_t> ready;
    for (auto& [process, bounds] : bounds_)
      if (Density(bounds) >= std::min(kDense, best)) ready.push_back(process);
    for (size_t process : ready) {
      edges_[process] = EdgesWithin(process, &bounds_.at(process));
      bounds_.erase(process);
    }
    return true;
  }

  double Density(const Bounds& bounds) const {
    return static_cast<double>(bounds.pinned) / static_cast<double>(count_ - 1);
  }

  TurnEdges EdgesWithin(size_t p, Bounds* bounds) const {
    const Process& process = run_.processes[p];
    CallKinds kinds(process);
    bounds->Settle();
    TurnEdges edges(count_);
    size_t failures = 0;
    for (size_t k = 1; k < count_; ++k) {
      size_t edge = bounds->low[k];
      if (k + 1 < count_) {
        edge = WithOwnEnd(process, &kinds, edge, bounds->high[k]);
        if (failures < kMostFailures) failures = InStep(process, &kinds, k - 1, &edge) ? 0 : failures + 1;
      }
      edges[k] = std::min(std::max(edge, edges[k - 1]), process.calls.size());
    }
    edges[0] = std::min(Begin(process, &kinds, *bounds, edges), edges[1]);
    edges.back() = Extended(process, &kinds, edges);
    return edges;
  }

  // Calls that only this process knows of may lie between the last shared one of a turn and the first of the next:
  // those up to the one that ends a turn elsewhere are of the old turn.
  size_t WithOwnEnd(const Process& process, CallKinds* kinds, size_t edge, size_t until) const {
    if (end_.alike == 0 || until == kNoIndex) return edge;
    for (size_t c = until; c-- > edge;)
      if (IsStepCall(process.calls[c]) && kinds->Alike(process.calls[c]) == end_.alike) return c + 1;
    return edge;
  }

  // A process that left out a call is one behind in its sequence numbers from then on, and what it does at the end of a
  // turn meets what others do before it. Its turns are by its own calls. False: it has no such call.
  bool InStep(const Process& process, CallKinds* kinds, size_t turn, size_t* edge) const {
    uint64_t exact = turn < end_.exact.size() ? end_.exact[turn] : 0;
    if (*edge == 0 || exact == 0) return true;
    const Call& at = process.calls[*edge - 1];
    if (UidOf(process, at) != end_.comm_uid[turn]) return true;
    if (kinds->Exact(at) == exact) return true;
    auto search = [&](ptrdiff_t by) -> std::pair<size_t, size_t> {  // place, distance
      size_t distance = 0;
      for (ptrdiff_t c = static_cast<ptrdiff_t>(*edge) - 1 + by;
           c >= 0 && c < static_cast<ptrdiff_t>(process.calls.size()); c += by) {
        const Call& call = process.calls[static_cast<size_t>(c)];
        if (!IsStepCall(call)) continue;
        if (++distance > std::max<size_t>(end_.calls_a_turn / 2, 1)) break;
        if (kinds->Exact(call) == exact) return {static_cast<size_t>(c), distance};
      }
      return {kNoIndex, kNoIndex};
    };
    auto before = search(-1), after = search(1);
    if (before.first == kNoIndex && after.first == kNoIndex) return false;
    *edge = (after.second <= before.second ? after.first : before.first) + 1;
    return true;
  }

  std::vector<uint64_t> KindsWithin(const Process& process, CallKinds* kinds, size_t from, size_t to) const {
    std::vector<uint64_t> all;
    for (size_t c = from; c < to; ++c)
      if (IsStepCall(process.calls[c])) all.push_back(kinds->Alike(process.calls[c]));
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  // Turn 0 begins with the first call of a kind that the turn after it has too, or with the first that is known to be
  // in it; what is no communication before it belongs to it.
  size_t Begin(const Process& process, CallKinds* kinds, const Bounds& bounds, const TurnEdges& edges) const {
    std::vector<uint64_t> next = KindsWithin(process, kinds, edges[1], edges[std::min<size_t>(2, edges.size() - 1)]);
    size_t begin = bounds.low[0], after_last = begin;
    for (; begin < std::min(bounds.high[0], process.calls.size()); ++begin) {
      const Call& call = process.calls[begin];
      if (!IsStepCall(call)) continue;
      if (std::binary_search(next.begin(), next.end(), kinds->Alike(call))) break;
      after_last = begin + 1;
    }
    return std::max(after_last, AfterInit(process));
  }

  static size_t AfterInit(const Process& process) {
    size_t after = 0;
    for (size_t c = 0; c < process.calls.size() && c < 64; ++c)
      if (process.calls[c].known() && process.calls[c].info().kind == CallKind::Init) after = c + 1;
    return after;
  }

  // The last turn, which may not have ended, goes on as long as calls are of the kinds that the turns before had.
  size_t Extended(const Process& process, CallKinds* kinds, const TurnEdges& edges) const {
    size_t end = edges.back(), from = end;
    for (size_t k = edges.size() - 1, full = 0; k-- > 0 && full < 2;) {
      full += edges[k] < from;
      from = edges[k];
    }
    std::vector<uint64_t> turn = KindsWithin(process, kinds, from, end);
    // What comes for the first time may lie between the end of a turn and the next one.
    size_t strange = 0, most = 4 * end_.calls_a_turn + 16;
    for (size_t c = end; c < process.calls.size() && strange <= most; ++c) {
      if (!IsStepCall(process.calls[c])) continue;
      bool known = std::binary_search(turn.begin(), turn.end(), kinds->Alike(process.calls[c]));
      strange = known ? 0 : strange + 1;
      if (known) end = c + 1;
    }
    return end;
  }

  static constexpr size_t kMostFailures = 3;
  static constexpr ptrdiff_t kUnknownTurn = PTRDIFF_MAX;

  const Run& run_;
  const Matching& matching_;
  const TurnEnd& end_;
  std::vector<TurnEdges>& edges_;
  size_t count_ = 0;                 // of edges
  std::map<size_t, Bounds> bounds_;  // of processes that are not known yet
  std::vector<bool> told_;           // by group
  std::map<Pair, PairCalls> pairs_;
  bool has_pairs_ = false;
};

}  // namespace

void SpreadTurns(const Run& run, const Matching& matching, const TurnEnd& end, std::vector<TurnEdges>* edges) {
  Spreader(run, matching, end, edges).Spread();
}

}  // namespace ddbg::analyzer