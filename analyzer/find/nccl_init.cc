// Communicators of NCCL that never came to be, by what was said in their inits: ranks, sizes, devices, libraries and
// variables that do not fit, an init that failed on one rank. Who did not come at all: nccl_arrivals.cc.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/context/context.h"
#include "analyzer/find/nccl_claims.h"
#include "analyzer/find/no_progress.h"
#include "analyzer/find/odd_settings.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

constexpr double kInitSeconds = 5.0;

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
    return FindNcclArrivals(context_, meetings_);
  }

 private:
  // A rank that ended by itself, and not because its init had failed, explains why others wait for it.
  bool SomebodyDied() const {
    for (size_t i = 0; i < context_.run.processes.size(); ++i) {
      if (context_.situation(i).end != EndCause::kOwn || context_.situation(i).gave_up) continue;
      bool failed = false;
      for (const Meeting& meeting : meetings_)
        for (const Claim& claim : meeting.claims)
          failed = failed || (claim.process == i && claim.state == Claim::kFailed);
      if (!failed) return true;
    }
    return false;
  }

  bool HasFailed(const Meeting& meeting) const {
    return std::any_of(meeting.claims.begin(), meeting.claims.end(),
                       [](const Claim& claim) { return claim.state == Claim::kFailed; });
  }

  bool IsInTrouble(const Meeting& meeting) const { return HasFailed(meeting) || Waited(meeting) >= kInitSeconds; }

  bool DuplicateRank(const Meeting& meeting, std::vector<Finding>* findings) {
    std::map<int32_t, const Claim*> owner;
    if (!IsInTrouble(meeting)) return false;
    for (const Claim& claim : meeting.claims) {
      auto [at, is_new] = owner.try_emplace(claim.comm->rank, &claim);
      if (is_new) continue;
      const Claim& other = *at->second;
      Finding finding = BeginFinding(context_, "duplicate_rank", claim, "rank", "a rank of its own",
                                     std::to_string(claim.comm->rank));
      finding.culprit_ranks = {context_.rank(other.process), context_.rank(claim.process)};
      finding.summary = fmt::format(
          "Two callers claim rank {} of one NCCL communicator of {} ranks: rank {} (pid {} on {}) and rank {} (pid {} "
          "on "
          "{}).",
          claim.comm->rank, claim.comm->size, context_.rank(other.process), context_.process(other.process).pid,
          context_.process(other.process).host, context_.rank(claim.process), context_.process(claim.process).pid,
          context_.process(claim.process).host);
      if (std::string hint = LocalRanksAsGlobal(meeting); !hint.empty()) finding.evidence.push_back(std::move(hint));
      FinishFinding(context_, meeting, &finding);
      findings->push_back(std::move(finding));
      return true;
    }
    return false;
  }

  // pytorch#23074: all claim their local rank, so that the higher ranks are missing.
  std::string LocalRanksAsGlobal(const Meeting& meeting) const {
    std::set<int32_t> claimed;
    for (const Claim& claim : meeting.claims) {
      if (claim.comm->rank != context_.process(claim.process).local_rank) return "";
      claimed.insert(claim.comm->rank);
    }
    if (claimed.size() >= meeting.claims[0].comm->size) return "";
    return "every process claims its local rank as its rank: the higher ranks are missing";
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
    Finding finding = BeginFinding(context_, "world_size_mismatch", *wrong, "ranks", std::to_string(right),
                                   std::to_string(wrong->comm->size));
    finding.culprit_ranks = culprits;
    std::sort(culprits.begin(), culprits.end());
    finding.summary =
        too_many ? fmt::format("{} {} an NCCL communicator of {} ranks, but {} were launched.", RankList(culprits),
                               culprits.size() == 1 ? "makes" : "make", wrong->comm->size, right)
                 : fmt::format(
                       "{} {} the NCCL communicator with {} ranks, where the others with the same unique id speak "
                       "of {}.",
                       RankList(culprits), culprits.size() == 1 ? "makes" : "make", wrong->comm->size, right);
    FinishFinding(context_, meeting, &finding);
    findings->push_back(std::move(finding));
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
      Finding finding =
          BeginFinding(context_, "duplicate_device", claim, "device", "a device of its own", claim.bus_id);
      finding.culprit_ranks = {context_.rank(other.process), context_.rank(claim.process)};
      finding.confidence = 0.9;
      finding.summary = fmt::format("Rank {} and rank {} use one device ({} on {}) for the same NCCL communicator{}.",
                                    context_.rank(other.process), context_.rank(claim.process), claim.bus_id,
                                    context_.process(claim.process).host,
                                    SetsDevice(context_, other.process) || SetsDevice(context_, claim.process)
                                        ? ""
                                        : "; neither called cudaSetDevice before");
      FinishFinding(context_, meeting, &finding);
      findings->push_back(std::move(finding));
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

  // Libraries and switches that are not the same on all who meet, where the meeting fails although all came. A rank
  // that failed by itself is told apart by them only if it is the one that differs.
  bool Differing(const Meeting& meeting, std::vector<Finding>* findings) {
    bool all_came = meeting.claims.size() >= meeting.claims[0].comm->size;
    if (!IsInTrouble(meeting) || (!all_came && !HasFailed(meeting))) return false;
    std::vector<size_t> processes;
    for (const Claim& claim : meeting.claims) processes.push_back(claim.process);
    for (const OddSetting& setting : OddSettings(context_, processes, SettingReader::kNccl)) {
      std::vector<int32_t> failed = FailedRanks(meeting);
      if (!failed.empty() && setting.ranks != failed) continue;
      AddDifference(meeting, setting, findings);
      return true;
    }
    return false;
  }

  // Of those who failed by themselves; empty if all did, or nobody.
  std::vector<int32_t> FailedRanks(const Meeting& meeting) const {
    std::vector<int32_t> failed;
    for (const Claim& claim : meeting.claims)
      if (claim.state == Claim::kFailed && !IsOfAPeer(claim)) failed.push_back(context_.rank(claim.process));
    std::sort(failed.begin(), failed.end());
    return failed.size() == meeting.claims.size() ? std::vector<int32_t>() : failed;
  }

  void AddDifference(const Meeting& meeting, const OddSetting& setting, std::vector<Finding>* findings) {
    const Claim* odd = &meeting.claims[0];
    for (const Claim& claim : meeting.claims)
      if (claim.process == setting.process) odd = &claim;
    Finding finding = BeginFinding(context_, setting.kind(), *odd, setting.key.c_str(), setting.usual, setting.odd);
    finding.culprit_ranks = setting.ranks.empty() ? setting.both_sides : setting.ranks;
    finding.confidence = ConfidenceIn(setting);
    finding.summary = fmt::format("{}; the NCCL communicator they make together {}.", setting.sentence,
                                  HasFailed(meeting) ? "fails" : "never comes to be");
    FinishFinding(context_, meeting, &finding);
    findings->push_back(std::move(finding));
  }

  // What a rank is told when the fault is at a peer's.
  static bool IsOfAPeer(const Claim& claim) {
    return claim.error.starts_with("ncclSystemError") || claim.error.starts_with("ncclRemoteError");
  }

  int64_t EndOf(const Claim& claim) const { return context_.EndNs(claim.process, claim.call); }

  bool Failed(const Meeting& meeting, std::vector<Finding>* findings) {
    std::vector<const Claim*> failed;
    std::vector<int32_t> culprits, waiting;
    for (const Claim& claim : meeting.claims) {
      if (claim.state == Claim::kOpen) waiting.push_back(context_.rank(claim.process));
      if (claim.state == Claim::kFailed && !claim.retried) failed.push_back(&claim);
    }
    bool own = std::any_of(failed.begin(), failed.end(), [](const Claim* claim) { return !IsOfAPeer(*claim); });
    const Claim* first = nullptr;
    for (const Claim* claim : failed) {
      if (own && IsOfAPeer(*claim)) continue;
      culprits.push_back(context_.rank(claim->process));
      if (!first || EndOf(*claim) < EndOf(*first)) first = claim;
    }
    if (!first) return false;
    std::sort(culprits.begin(), culprits.end());
    Finding finding = BeginFinding(context_, "init_error", *first, "result", "ncclSuccess", first->error);
    finding.culprit_ranks = culprits;
    // They may try again, as those do that retry an init; nobody is stuck.
    if (waiting.empty() && context_.situation(first->process).end == EndCause::kRunning) finding.confidence = 0.7;
    std::string line = context_.Line(first->process, first->call);
    finding.summary = fmt::format("{} of {} failed with {}{}{}.", finding.first.call_name, RankList(culprits),
                                  first->error, line.empty() ? "" : " at " + line,
                                  waiting.empty() ? "" : fmt::format("; {} wait there for it", RankList(waiting)));
    FinishFinding(context_, meeting, &finding);
    findings->push_back(std::move(finding));
    return true;
  }

  Context& context_;
  std::vector<Meeting> meetings_;
};

}  // namespace

std::vector<Finding> FindNcclInit(Context& context) { return NcclInitRule(context).Find(); }

}  // namespace ddbg::analyzer
