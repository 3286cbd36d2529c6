// Communicators of NCCL that never came to be: an id or a rank that does not fit, an init that failed on one rank, a rank
// that did not come, and inits that all ranks entered and none leaves.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/context.h"
#include "analyzer/describe.h"
#include "analyzer/find/nccl_claims.h"

namespace ddbg::analyzer {
namespace {

constexpr double kInitSeconds = 5.0;
constexpr double kNoProgressSeconds = 10.0;

class NcclInitRule {
 public:
  explicit NcclInitRule(Context& context) : context_(context), meetings_(FindMeetings(context)) {}

  std::vector<Finding> Find() {
    if (SomebodyDied()) return {};
    std::vector<Finding> findings;
    for (auto rule : {&NcclInitRule::DuplicateRank, &NcclInitRule::WorldSize, &NcclInitRule::DuplicateDevice,
                      &NcclInitRule::Differing, &NcclInitRule::Failed}) {
      for (const Meeting& meeting : meetings_)
        if ((this->*rule)(meeting, &findings)) return findings;
    }
    if (MixedUp(&findings)) return findings;
    for (const Meeting& meeting : meetings_)
      if (Missing(meeting, &findings) || Stalled(meeting, &findings)) return findings;
    return findings;
  }

 private:
  // A rank that ended by itself, and not because its init had failed, explains why others wait for it.
  bool SomebodyDied() const {
    for (size_t i = 0; i < context_.run.processes.size(); ++i) {
      if (context_.situation(i).end != EndCause::kOwn || context_.situation(i).gave_up) continue;
      bool failed = false;
      for (const Meeting& meeting : meetings_)
        for (const Claim& claim : meeting.claims) failed = failed || (claim.process == i && claim.state == Claim::kFailed);
      if (!failed) return true;
    }
    return false;
  }

  double Waited(const Meeting& meeting) const {
    double waited = 0;
    for (const Claim& claim : meeting.claims)
      if (claim.state == Claim::kOpen) waited = std::max(waited, claim.seconds);
    return waited;
  }

  bool HasFailed(const Meeting& meeting) const {
    return std::any_of(meeting.claims.begin(), meeting.claims.end(),
                       [](const Claim& claim) { return claim.state == Claim::kFailed; });
  }

  bool IsInTrouble(const Meeting& meeting) const { return HasFailed(meeting) || Waited(meeting) >= kInitSeconds; }

  Finding Begin(const char* kind, const Claim& claim, const char* field, std::string expected, std::string actual) {
    Finding finding;
    finding.kind = kind;
    finding.proof = Proof::kStartUp;
    finding.wont_start = true;
    finding.first = context_.Event(claim.process, claim.call);
    finding.first.field = field;
    finding.first.expected = std::move(expected);
    finding.first.actual = std::move(actual);
    return finding;
  }

  void Finish(const Meeting& meeting, Finding* finding, std::vector<Finding>* findings) {
    std::vector<int32_t>& culprits = finding->culprit_ranks;
    std::sort(culprits.begin(), culprits.end());
    culprits.erase(std::unique(culprits.begin(), culprits.end()), culprits.end());
    for (const Claim& claim : meeting.claims) {
      std::string line = context_.Line(claim.process, claim.call);
      finding->evidence.push_back(fmt::format("rank {}: {}{}, {}", context_.rank(claim.process),
                                              context_.Describe(claim.process, claim.call),
                                              line.empty() ? "" : " at " + line, StateText(claim)));
    }
    findings->push_back(std::move(*finding));
  }

  std::string StateText(const Claim& claim) const {
    switch (claim.state) {
      case Claim::kDone: return "done";
      case Claim::kFailed: return "failed with " + claim.error;
      case Claim::kOpen: break;
    }
    return fmt::format("not done for {:.1f} s", claim.seconds);
  }

  bool DuplicateRank(const Meeting& meeting, std::vector<Finding>* findings) {
    std::map<int32_t, const Claim*> owner;
    if (!IsInTrouble(meeting)) return false;
    for (const Claim& claim : meeting.claims) {
      auto [at, is_new] = owner.try_emplace(claim.comm->rank, &claim);
      if (is_new) continue;
      const Claim& other = *at->second;
      Finding finding = Begin("duplicate_rank", claim, "rank", "a rank of its own", std::to_string(claim.comm->rank));
      finding.culprit_ranks = {context_.rank(other.process), context_.rank(claim.process)};
      finding.summary = fmt::format(
          "Two callers claim rank {} of one NCCL communicator of {} ranks: rank {} (pid {} on {}) and rank {} (pid {} on "
          "{}).",
          claim.comm->rank, claim.comm->size, context_.rank(other.process), context_.process(other.process).pid,
          context_.process(other.process).host, context_.rank(claim.process), context_.process(claim.process).pid,
          context_.process(claim.process).host);
      Finish(meeting, &finding, findings);
      return true;
    }
    return false;
  }

  // With one unique id, everybody must speak of as many ranks.
  bool WorldSize(const Meeting& meeting, std::vector<Finding>* findings) {
    std::map<uint32_t, size_t> votes;
    for (const Claim& claim : meeting.claims) ++votes[claim.comm->size];
    int32_t launched = context_.process(meeting.claims[0].process).launcher_world_size;
    bool too_many = launched > 0 && votes.size() == 1 && static_cast<int32_t>(votes.begin()->first) > launched &&
                    !SeveralDevices(meeting) && IsInTrouble(meeting);
    if (votes.size() < 2 && !too_many) return false;
    uint32_t right = votes.begin()->first;
    for (const auto& [size, count] : votes) {
      bool as_launched = static_cast<int32_t>(size) == launched;
      if (count > votes[right] || (count == votes[right] && as_launched)) right = size;
    }
    if (too_many) right = static_cast<uint32_t>(launched);
    const Claim* wrong = nullptr;
    std::vector<int32_t> culprits;
    for (const Claim& claim : meeting.claims) {
      if (claim.comm->size == right) continue;
      if (!wrong) wrong = &claim;
      culprits.push_back(context_.rank(claim.process));
    }
    Finding finding =
        Begin("world_size_mismatch", *wrong, "ranks", std::to_string(right), std::to_string(wrong->comm->size));
    finding.culprit_ranks = culprits;
    std::sort(culprits.begin(), culprits.end());
    finding.summary =
        too_many ? fmt::format("{} {} an NCCL communicator of {} ranks, but {} were launched.", RankList(culprits),
                               culprits.size() == 1 ? "makes" : "make", wrong->comm->size, right)
                 : fmt::format("{} {} the NCCL communicator with {} ranks, where the others with the same unique id speak "
                               "of {}.",
                               RankList(culprits), culprits.size() == 1 ? "makes" : "make", wrong->comm->size, right);
    Finish(meeting, &finding, findings);
    return true;
  }

  // One process may be several ranks, one a device.
  bool SeveralDevices(const Meeting& meeting) const {
    std::set<size_t> processes;
    for (const Claim& claim : meeting.claims) processes.insert(claim.process);
    return processes.size() < meeting.claims.size();
  }

  bool DuplicateDevice(const Meeting& meeting, std::vector<Finding>* findings) {
    bool trouble = IsInTrouble(meeting);
    for (const Claim& claim : meeting.claims) trouble = trouble || HangsLater(claim.process);
    std::map<std::string, const Claim*> owner;
    for (const Claim& claim : meeting.claims) {
      std::string device = DeviceOf(context_, claim);
      if (device.empty() || !trouble) continue;
      auto [at, is_new] = owner.try_emplace(device, &claim);
      if (is_new) continue;
      const Claim& other = *at->second;
      Finding finding = Begin("duplicate_device", claim, "device", "a device of its own", claim.bus_id);
      finding.culprit_ranks = {context_.rank(other.process), context_.rank(claim.process)};
      finding.confidence = 0.9;
      finding.summary = fmt::format(
          "Rank {} and rank {} use one device ({} on {}) for the same NCCL communicator{}.", context_.rank(other.process),
          context_.rank(claim.process), claim.bus_id, context_.process(claim.process).host,
          SetsDevice(context_, other.process) || SetsDevice(context_, claim.process)
              ? ""
              : "; neither called cudaSetDevice before");
      Finish(meeting, &finding, findings);
      return true;
    }
    return false;
  }

  bool HangsLater(size_t process) const {
    const Situation& s = context_.situation(process);
    if (s.gave_up) return true;
    return s.alive_at_end() && s.open_call != kNoIndex && context_.call(process, s.open_call).info().api != Api::Mpi &&
           context_.OpenSeconds(process, s.open_call) >= kNoProgressSeconds;
  }

  // Libraries and switches that are not the same on all who meet, where the meeting fails.
  bool Differing(const Meeting& meeting, std::vector<Finding>* findings) {
    if (!IsInTrouble(meeting)) return false;
    return Differs(meeting, "version_mismatch", "NCCL version", [&](size_t p) { return NcclVersion(context_.process(p)); }, 0.8,
                   findings) ||
           DiffersInEnvironment(meeting, findings);
  }

  bool DiffersInEnvironment(const Meeting& meeting, std::vector<Finding>* findings) {
    std::set<std::string> keys;
    for (const Claim& claim : meeting.claims)
      for (const KeyValue& variable : context_.process(claim.process).environment)
        if (variable.key.starts_with("NCCL_") && !variable.key.starts_with("NCCL_DEBUG")) keys.insert(variable.key);
    for (const std::string& key : keys)
      if (Differs(meeting, "env_mismatch", key, [&](size_t p) { return VariableOf(context_.process(p), key); }, 0.6, findings))
        return true;
    return false;
  }

  template <class Value>
  bool Differs(const Meeting& meeting, const char* kind, const std::string& what, Value value, double confidence,
               std::vector<Finding>* findings) {
    std::map<std::string, size_t> votes;
    for (const Claim& claim : meeting.claims) ++votes[value(claim.process)];
    if (votes.size() < 2) return false;
    auto right = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    bool tie = std::count_if(votes.begin(), votes.end(), [&](const auto& v) { return v.second == right->second; }) > 1;
    const Claim* odd = nullptr;
    std::vector<int32_t> culprits;
    for (const Claim& claim : meeting.claims) {
      if (value(claim.process) == right->first && !tie) continue;
      if (!odd && value(claim.process) != right->first) odd = &claim;
      culprits.push_back(context_.rank(claim.process));
    }
    Finding finding = Begin(kind, *odd, what.c_str(), right->first, value(odd->process));
    finding.culprit_ranks = culprits;
    finding.confidence = tie ? std::min(confidence, 0.6) : confidence;
    auto shown = [](const std::string& text) { return text.empty() ? std::string("(none)") : text; };
    finding.summary =
        fmt::format("{} of rank {} is {}, where {} of its peers {} {}; the NCCL communicator they make together {}.", what,
                    context_.rank(odd->process), shown(value(odd->process)), right->second, right->second == 1 ? "has" : "have",
                    shown(right->first), HasFailed(meeting) ? "fails" : "never comes to be");
    Finish(meeting, &finding, findings);
    return true;
  }

  bool Failed(const Meeting& meeting, std::vector<Finding>* findings) {
    const Claim* first = nullptr;
    std::vector<int32_t> culprits, waiting;
    for (const Claim& claim : meeting.claims) {
      if (claim.state == Claim::kOpen) waiting.push_back(context_.rank(claim.process));
      if (claim.state != Claim::kFailed || claim.retried) continue;
      culprits.push_back(context_.rank(claim.process));
      if (!first || context_.call(claim.process, claim.call).start_ns < context_.call(first->process, first->call).start_ns)
        first = &claim;
    }
    if (!first) return false;
    std::sort(culprits.begin(), culprits.end());
    Finding finding = Begin("init_error", *first, "result", "ncclSuccess", first->error);
    finding.culprit_ranks = culprits;
    std::string line = context_.Line(first->process, first->call);
    finding.summary = fmt::format("{} of {} failed with {}{}{}.", finding.first.call_name, RankList(culprits), first->error,
                                  line.empty() ? "" : " at " + line,
                                  waiting.empty() ? "" : fmt::format("; {} wait there for it", RankList(waiting)));
    Finish(meeting, &finding, findings);
    return true;
  }

  // Ranks that speak of one world and wait in several: each came with another unique id.
  bool MixedUp(std::vector<Finding>* findings) {
    std::vector<const Meeting*> apart;
    std::set<int32_t> together;
    for (const Meeting& meeting : meetings_) {
      if (meeting.claims.size() >= meeting.claims[0].comm->size || Waited(meeting) < kInitSeconds) continue;
      if (!apart.empty() && meeting.claims[0].comm->size != apart[0]->claims[0].comm->size) continue;
      for (const Claim& claim : meeting.claims)
        if (!together.insert(claim.comm->rank).second) return false;
      apart.push_back(&meeting);
    }
    if (apart.size() < 2 || together.size() != apart[0]->claims[0].comm->size) return false;
    std::sort(apart.begin(), apart.end(), [](const Meeting* a, const Meeting* b) { return a->claims.size() < b->claims.size(); });
    bool tie = apart.front()->claims.size() == apart.back()->claims.size();
    Finding finding = Begin("unique_id_mismatch", apart[0]->claims[0], "unique id", "one id for all ranks",
                            fmt::format("{} ids", apart.size()));
    std::string sides;
    for (const Meeting* meeting : apart) {
      std::vector<int32_t> ranks;
      for (const Claim& claim : meeting->claims) ranks.push_back(context_.rank(claim.process));
      std::sort(ranks.begin(), ranks.end());
      sides += (sides.empty() ? "" : "; ") + RankList(ranks);
      if (tie || meeting != apart.back())
        finding.culprit_ranks.insert(finding.culprit_ranks.end(), ranks.begin(), ranks.end());
    }
    finding.confidence = 0.9;
    finding.summary = fmt::format(
        "The {} ranks of one NCCL communicator wait for each other with {} different unique ids ({}): nobody will come.",
        together.size(), apart.size(), sides);
    for (size_t i = 1; i < apart.size(); ++i)
      for (const Claim& claim : apart[i]->claims)
        finding.evidence.push_back(fmt::format("rank {} is {}", context_.rank(claim.process), context_.WhereIs(claim.process)));
    Finish(*apart[0], &finding, findings);
    return true;
  }

  bool Missing(const Meeting& meeting, std::vector<Finding>* findings) {
    uint32_t size = meeting.claims[0].comm->size;
    double waited = Waited(meeting);
    if (meeting.claims.size() >= size || waited < kInitSeconds) return false;
    std::set<int32_t> there;
    std::vector<int32_t> waiting, absent;
    for (const Claim& claim : meeting.claims) {
      there.insert(claim.comm->rank);
      waiting.push_back(context_.rank(claim.process));
    }
    std::sort(waiting.begin(), waiting.end());
    bool world = static_cast<int32_t>(size) == context_.process(meeting.claims[0].process).world_size();
    for (int32_t rank = 0; rank < static_cast<int32_t>(size); ++rank)
      if (!there.count(rank)) absent.push_back(rank);
    const Claim& first = meeting.claims[0];
    Finding finding =
        Begin("missing_rank", first, "arrival", fmt::format("{} ranks", size), fmt::format("{} ranks", there.size()));
    finding.confidence = 0.8;
    std::string where;
    for (int32_t rank : absent) {
      size_t process = world ? context_.ProcessOfRank(rank) : kNoIndex;
      if (process != kNoIndex && where.empty()) where = fmt::format("; rank {} is {}", rank, context_.WhereIs(process));
    }
    if (world) finding.culprit_ranks = absent, finding.first.rank = absent[0];
    if (WorkedBefore(first.process)) {  // it is the program that left its path, not the start that failed
      finding.kind = "missing_collective";
      finding.proof = Proof::kMissing;
      finding.wont_start = false;
    }
    finding.summary = fmt::format("{}{} never came to {} that {} wait in for {:.1f} s{}.", RankList(absent),
                                  world ? "" : " of the new communicator", context_.Describe(first.process, first.call),
                                  RankList(waiting), waited, where);
    Finish(meeting, &finding, findings);
    return true;
  }

  bool WorkedBefore(size_t process) const {
    for (const Meeting& meeting : meetings_)
      for (const Claim& claim : meeting.claims)
        if (claim.process == process && claim.state == Claim::kDone && meeting.claims[0].comm->size > 1) return true;
    return false;
  }

  bool Stalled(const Meeting& meeting, std::vector<Finding>* findings) {
    if (meeting.claims.size() < meeting.claims[0].comm->size || Waited(meeting) < kNoProgressSeconds) return false;
    const Claim* open = nullptr;
    std::vector<int32_t> ranks;
    for (const Claim& claim : meeting.claims) {
      ranks.push_back(context_.rank(claim.process));
      if (claim.state == Claim::kOpen && !open) open = &claim;
    }
    Finding finding = Begin("library_stall", *open, "progress", "return", "open");
    finding.proof = Proof::kNoProgress;
    finding.confidence = 0.6;
    finding.culprit_ranks = ranks;
    std::sort(ranks.begin(), ranks.end());
    finding.summary = fmt::format(
        "{} all came to {}, and it has not ended for {:.1f} s: the network between them, the devices or NCCL itself.",
        RankList(ranks), context_.Describe(open->process, open->call), Waited(meeting));
    Finish(meeting, &finding, findings);
    return true;
  }

  Context& context_;
  std::vector<Meeting> meetings_;
};

}  // namespace

std::vector<Finding> FindNcclInit(Context& context) { return NcclInitRule(context).Find(); }

}  // namespace ddbg::analyzer
