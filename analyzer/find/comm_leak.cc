// Communicators that one call site makes again and again and nobody frees. Told long before the MPI runs out of them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyzer/context/context.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

// A program may keep a grid of communicators from one loop; a hundred and more, none of them ever freed, is a leak.
constexpr size_t kManyAlive = 128;

struct SiteUse {
  size_t first = kNoIndex;  // call
  size_t alive = 0, freed = 0;
};

// By (call, site).
std::map<std::pair<uint16_t, uint64_t>, SiteUse> Uses(Context& context, size_t index) {
  std::map<std::pair<uint16_t, uint64_t>, SiteUse> uses;
  const Process& process = context.process(index);
  for (size_t i = 0; i < process.calls.size(); ++i) {
    const Call& call = process.calls[i];
    if (!call.known() || call.info().kind != CallKind::CommCreate || call.open() || call.aux == 0 ||
        call.info().has_request)
      continue;
    SiteUse& use = uses[{call.call, context.Site(index, call.stack)}];
    if (use.first == kNoIndex) use.first = i;
    auto made = process.comms.find(static_cast<uint32_t>(call.aux));
    ++(made != process.comms.end() && made->second.freed ? use.freed : use.alive);
  }
  return uses;
}

}  // namespace

std::vector<Finding> FindCommLeaks(Context& context) {
  Finding finding;
  size_t most = 0;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    for (const auto& [site, use] : Uses(context, i)) {
      if (use.alive < kManyAlive || use.freed > 0) continue;
      finding.culprit_ranks.push_back(context.rank(i));
      std::string line = context.Line(i, use.first);
      finding.evidence.push_back(fmt::format("rank {}: {} communicators made by {}{}, none freed", context.rank(i),
                                             use.alive, CallName(context.process(i), context.call(i, use.first)),
                                             line.empty() ? "" : " at " + line));
      if (use.alive <= most) continue;
      most = use.alive;
      if (finding.first.process == kNoIndex) finding.first = context.Event(i, use.first);
    }
  }
  if (finding.culprit_ranks.empty()) return {};
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  finding.culprit_ranks.erase(std::unique(finding.culprit_ranks.begin(), finding.culprit_ranks.end()),
                              finding.culprit_ranks.end());
  finding.kind = "comm_leak";
  finding.proof = Proof::kState;
  finding.first.field = "live communicators";
  finding.first.expected = "freed";
  finding.first.actual = std::to_string(most);
  std::string line = context.Line(finding.first.process, finding.first.call);
  finding.summary =
      fmt::format("{} made {} communicators with {}{} and freed none of them.", RankList(finding.culprit_ranks), most,
                  finding.first.call_name, line.empty() ? "" : " at " + line);
  finding.confidence = 0.9;
  return {finding};
}

}  // namespace ddbg::analyzer
