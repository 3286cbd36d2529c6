// Inits of NCCL's communicators that wait: with another unique id than their peers, for a rank that did not come, or
// with everybody there.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyzer/find/nccl_claims.h"
#include "analyzer/find/no_progress.h"
#include "analyzer/find/odd_settings.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

constexpr double kInitSeconds = 5.0;
constexpr const char* kAddressesUnseen =
    "how ranks find each other before that (a store, TCP connections, host names) is not recorded; the variables that "
    "name the place are compared";

class ArrivalRule {
 public:
  ArrivalRule(Context& context, const std::vector<Meeting>& meetings) : context_(context), meetings_(meetings) {}

  std::vector<Finding> Find() {
    std::vector<Finding> findings;
    if (MixedUp(&findings)) return findings;
    for (const Meeting& meeting : meetings_)
      if (Missing(meeting, &findings) || Stalled(meeting, &findings)) return findings;
    return findings;
  }

 private:
  bool IsOfNccl(const Meeting& meeting) const {
    return IsNccl(context_.call(meeting.claims[0].process, meeting.claims[0].call));
  }
  const char* LibraryOf(const Meeting& meeting) const { return IsOfNccl(meeting) ? "NCCL" : "gloo"; }
  const char* IdsOf(const Meeting& meeting) const { return IsOfNccl(meeting) ? "unique ids" : "names"; }

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
    std::sort(apart.begin(), apart.end(),
              [](const Meeting* a, const Meeting* b) { return a->claims.size() < b->claims.size(); });
    bool tie = apart.front()->claims.size() == apart.back()->claims.size();
    Finding finding = BeginFinding(context_, "group_creation_mismatch", apart[0]->claims[0], "unique id",
                                   "one for all ranks", fmt::format("{} {}", apart.size(), IdsOf(*apart[0])));
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
    finding.evidence.push_back(kAddressesUnseen);
    finding.summary = fmt::format(
        "The {} ranks of one {} communicator wait for each other with {} different {} ({}): nobody will come.",
        together.size(), LibraryOf(*apart[0]), apart.size(), IdsOf(*apart[0]), sides);
    for (size_t i = 1; i < apart.size(); ++i)
      for (const Claim& claim : apart[i]->claims)
        finding.evidence.push_back(
            fmt::format("rank {} is {}", context_.rank(claim.process), context_.WhereIs(claim.process)));
    BlameAddress(&finding);
    FinishFinding(context_, *apart[0], &finding);
    findings->push_back(std::move(finding));
    return true;
  }

  // Ranks that were told another place to meet than most cannot meet them.
  void BlameAddress(Finding* finding) const {
    std::sort(finding->culprit_ranks.begin(), finding->culprit_ranks.end());
    for (const OddSetting& setting : OddSettings(context_, SettingReader::kNccl)) {
      if (setting.sort != JobSetting::kAddress) continue;
      finding->evidence.insert(finding->evidence.begin(), setting.sentence);
      if (setting.ranks.empty() || setting.ranks != finding->culprit_ranks) continue;
      finding->kind = setting.kind();
      finding->first.rank = setting.ranks[0];
      finding->first.field = setting.key;
      finding->first.expected = setting.usual;
      finding->first.actual = setting.odd;
      finding->confidence = 0.85;
      finding->summary =
          fmt::format("{}, so that these ranks do not find each other: {}", setting.sentence, finding->summary);
      return;
    }
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
    Finding finding = BeginFinding(context_, "missing_rank", first, "arrival", fmt::format("{} ranks", size),
                                   fmt::format("{} ranks", there.size()));
    finding.confidence = 0.8;
    std::string where;
    for (int32_t rank : absent) {
      size_t process = world ? context_.ProcessOfRank(rank) : kNoIndex;
      if (process != kNoIndex && where.empty()) where = fmt::format("; rank {} is {}", rank, context_.WhereIs(process));
    }
    if (world) finding.culprit_ranks = absent, finding.first.rank = absent[0];
    if (WorkedBefore(first.process) ||
        context_.situation(first.process)
            .initialized) {  // it is the program that left its path, not the start that failed
      finding.kind = "missing_collective";
      finding.proof = Proof::kMissing;
      finding.wont_start = false;
    }
    finding.summary = fmt::format("{}{} never came to {} that {} wait in for {:.1f} s{}.", RankList(absent),
                                  world ? "" : " of the new communicator", context_.Describe(first.process, first.call),
                                  RankList(waiting), waited, where);
    if (finding.wont_start) {
      finding.evidence.push_back(kAddressesUnseen);
      BlameAddress(&finding);
    }
    FinishFinding(context_, meeting, &finding);
    findings->push_back(std::move(finding));
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
    Finding finding = BeginFinding(context_, "library_stall", *open, "progress", "return", "open");
    finding.proof = Proof::kNoProgress;
    finding.confidence = 0.6;
    finding.culprit_ranks = ranks;
    std::sort(ranks.begin(), ranks.end());
    finding.summary = fmt::format(
        "{} all came to {}, and it has not ended for {:.1f} s: the network between them, the devices or {} itself.",
        RankList(ranks), context_.Describe(open->process, open->call), Waited(meeting), LibraryOf(meeting));
    FinishFinding(context_, meeting, &finding);
    findings->push_back(std::move(finding));
    return true;
  }

  Context& context_;
  const std::vector<Meeting>& meetings_;
};

}  // namespace

std::vector<Finding> FindNcclArrivals(Context& context, const std::vector<Meeting>& meetings) {
  return ArrivalRule(context, meetings).Find();
}

}  // namespace ddbg::analyzer
