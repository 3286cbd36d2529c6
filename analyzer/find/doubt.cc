#include "analyzer/find/doubt.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <set>

#include "analyzer/load/liveness.h"
#include "analyzer/model/describe.h"
#include "analyzer/model/losses.h"

namespace ddbg::analyzer {
namespace {

constexpr double kWithGaps = 0.8;

// Could not be caused by what another rank did.
bool IsFaultOfItsOwn(const ProcessEnd& end) {
  return end.how == ProcessEnd::kSignaled &&
         (end.code == SIGSEGV || end.code == SIGBUS || end.code == SIGFPE || end.code == SIGILL || end.code == SIGSYS);
}

class Gaps {
 public:
  Gaps(const Context& context, const Finding& finding) : context_(context), finding_(finding) {}

  // A sentence, or "" if nothing of weight is missing.
  std::string Find() const {
    bool by_call = finding_.kind == "collective_mismatch" || finding_.kind == "argument_mismatch";
    if (finding_.proof == Proof::kMismatch && by_call) return OfMajority();
    if (finding_.proof == Proof::kOwnEnd) return OfEnds();
    if (finding_.proof == Proof::kTiming) return OfTimes();
    const CommGroup* group = context_.matching.Group(finding_.first.comm_uid);
    if (finding_.proof == Proof::kMissing && group && finding_.first.seq >= 0) return OfGroup(*group);
    return OfRun();
  }

 private:
  bool IsCulprit(int32_t rank) const {
    return std::find(finding_.culprit_ranks.begin(), finding_.culprit_ranks.end(), rank) !=
           finding_.culprit_ranks.end();
  }

  // Members whose call at that place is not known could agree with those that are blamed.
  std::string OfMajority() const {
    const CommGroup* group = context_.matching.Group(finding_.first.comm_uid);
    if (!group || finding_.first.seq < 0) return OfRun();
    size_t blamed = 0, others = 0;
    for (const Member& member : group->members) {
      size_t call = member.At(static_cast<size_t>(finding_.first.seq));
      if (call == kNoIndex) continue;
      ++(IsCulprit(context_.rank(member.process)) ? blamed : others);
    }
    size_t size = std::max<size_t>(group->size, group->members.size()),
           unknown = size - std::min(size, blamed + others);
    if (unknown == 0 || others > blamed + unknown) return "";
    return fmt::format("{} of the communicator's {} members {} not known at this call", unknown, size,
                       unknown == 1 ? "is" : "are");
  }

  std::string OfGroup(const CommGroup& group) const {
    std::vector<int32_t> lacking, behind;
    for (const Member& member : group.members) {
      const Process& process = context_.process(member.process);
      if (LacksCalls(process)) lacking.push_back(context_.rank(member.process));
      if (IsBehind(member.process)) behind.push_back(context_.rank(member.process));
    }
    if (!lacking.empty()) return Lost(lacking);
    if (!behind.empty()) return fmt::format("{} was last seen before that", RankList(behind));
    if (group.nccl && context_.run.live)
      return "the job still runs, and ranks that lose one may abort and go on without it, as elastic jobs do";
    if (group.members.size() >= group.size) return "";
    return fmt::format("{} of the communicator's {} members were not traced", group.size - group.members.size(),
                       group.size);
  }

  // Who is known for a part of the time only may have waited for what looks late.
  std::string OfTimes() const {
    std::vector<int32_t> behind;
    for (size_t i = 0; i < context_.run.processes.size(); ++i)
      if (context_.situation(i).communicates && IsBehind(i)) behind.push_back(context_.rank(i));
    std::sort(behind.begin(), behind.end());
    return behind.empty() ? OfRun() : fmt::format("{} was last seen before that", RankList(behind));
  }

  static std::string Lost(std::vector<int32_t> ranks) {
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return fmt::format("a part of what {} did is missing from the trace", RankList(ranks));
  }

  // Whose end may have come first without anybody knowing.
  std::string OfEnds() const {
    if (finding_.first.process != kNoIndex) {
      const ProcessEnd& end = context_.process(finding_.first.process).end;
      if (IsFaultOfItsOwn(end)) return "";
    }
    std::vector<int32_t> unknown;
    for (size_t i = 0; i < context_.run.processes.size(); ++i) {
      if (!context_.situation(i).communicates || i == finding_.first.process) continue;
      if (IsBehind(i)) unknown.push_back(context_.rank(i));
    }
    std::sort(unknown.begin(), unknown.end());
    if (!unknown.empty())
      return fmt::format("{} {} last seen before that: whether one of them ended first is not known", RankList(unknown),
                         unknown.size() == 1 ? "was" : "were");
    return OfRun();
  }

  // What it did when the finding's event happened is not known.
  bool IsBehind(size_t index) const {
    const Process& process = context_.process(index);
    bool open = process.end.how == ProcessEnd::kRunning || process.end.how == ProcessEnd::kGone;
    int64_t known_ns = std::max(process.last_seen_ns, FollowedUntil(process));
    return open && context_.timeline.At(index, known_ns) < finding_.first.t_ns;
  }

  std::string OfUntraced() const {
    if (!context_.run.unreadable.empty()) return "the trace of a rank cannot be read";
    std::set<int32_t> there;
    size_t processes = 0;
    int32_t world = 0;
    for (size_t i = 0; i < context_.run.processes.size(); ++i) {
      if (!context_.situation(i).communicates && !context_.situation(i).joins) continue;
      there.insert(context_.rank(i));
      ++processes;
      world = std::max(world, context_.process(i).world_size());
    }
    // All processes are there, and claim some ranks twice.
    if (finding_.kind == "duplicate_rank" && static_cast<int32_t>(processes) >= world) return "";
    std::vector<int32_t> unseen;
    for (int32_t rank = 0; rank < world; ++rank)
      if (!there.count(rank)) unseen.push_back(rank);
    return unseen.empty() ? "" : fmt::format("{} {} not traced", RankList(unseen), unseen.size() == 1 ? "was" : "were");
  }

  std::string OfRun() const {
    std::vector<int32_t> lacking;
    for (const Process& process : context_.run.processes)
      if (LacksCalls(process)) lacking.push_back(process.rank());
    return lacking.empty() ? OfUntraced() : Lost(lacking);
  }

  const Context& context_;
  const Finding& finding_;
};

}  // namespace

void WeighGaps(const Context& context, Finding* finding) {
  if (finding->confidence <= kWithGaps) return;
  std::string gap = Gaps(context, *finding).Find();
  if (gap.empty()) return;
  finding->confidence = kWithGaps;
  finding->evidence.push_back("less certain, since " + gap);
}

}  // namespace ddbg::analyzer
