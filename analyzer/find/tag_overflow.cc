// Tags above what the MPI allows (MPI_TAG_UB), and tags of one call site that rise and are nearly there.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyzer/context/context.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

constexpr double kNear = 0.9;
constexpr size_t kFewest = 16;
constexpr double kMostly = 0.9;

bool HasTag(const Call& call) {
  if (!call.known() || call.info().api != Api::Mpi) return false;
  CallKind kind = call.info().kind;
  return kind == CallKind::Send || kind == CallKind::Recv || kind == CallKind::Sendrecv || kind == CallKind::SendInit ||
         kind == CallKind::RecvInit;
}

// The tags that one site gave, in order.
struct Tags {
  size_t first = kNoIndex, last = kNoIndex;  // calls
  size_t calls = 0, rises = 0;
};

class TagRule {
 public:
  explicit TagRule(Context& context) : context_(context) {}

  std::vector<Finding> Find() {
    for (size_t i = 0; i < context_.run.processes.size(); ++i)
      if (context_.process(i).tag_ub > 0) LookAt(i);
    if (finding_.culprit_ranks.empty()) return {};
    std::sort(finding_.culprit_ranks.begin(), finding_.culprit_ranks.end());
    return {std::move(finding_)};
  }

 private:
  void LookAt(size_t index) {
    const Process& process = context_.process(index);
    std::map<std::pair<uint16_t, uint32_t>, Tags> sites;  // by call and stack
    for (size_t i = 0; i < process.calls.size(); ++i) {
      const Call& call = process.calls[i];
      if (!HasTag(call) || call.tag < 0 || (call.flags & kFlagSecondHalf)) continue;
      Tags& tags = sites[{call.call, call.stack}];
      if (tags.last != kNoIndex) tags.rises += call.tag > process.calls[tags.last].tag;
      if (tags.first == kNoIndex) tags.first = i;
      tags.last = i;
      ++tags.calls;
      if (call.tag > process.tag_ub) return Report(index, i, tags, true);
    }
    for (const auto& [site, tags] : sites) {
      bool rises = static_cast<double>(tags.rises) >= kMostly * static_cast<double>(tags.calls - 1);
      bool near = process.calls[tags.last].tag >= kNear * process.tag_ub;
      if (tags.calls >= kFewest && rises && near) return Report(index, tags.last, tags, false);
    }
  }

  void Report(size_t index, size_t bad, const Tags& tags, bool above) {
    if (std::find(finding_.culprit_ranks.begin(), finding_.culprit_ranks.end(), context_.rank(index)) ==
        finding_.culprit_ranks.end())
      finding_.culprit_ranks.push_back(context_.rank(index));
    int64_t t_ns = context_.StartNs(index, bad);
    if (finding_.first.process != kNoIndex && finding_.first.t_ns <= t_ns) return;
    const Process& process = context_.process(index);
    int32_t tag = process.calls[bad].tag, from = process.calls[tags.first].tag;
    finding_.kind = "tag_overflow";
    finding_.proof = above ? Proof::kMismatch : Proof::kState;
    finding_.first = context_.Event(index, bad);
    finding_.first.field = "tag";
    finding_.first.expected = fmt::format("at most {}", process.tag_ub);
    finding_.first.actual = std::to_string(tag);
    std::string line = context_.Line(index, bad);
    finding_.summary = fmt::format("Rank {} called {}{}: tag {} {} MPI_TAG_UB, {}.", context_.rank(index),
                                   context_.Describe(index, bad), line.empty() ? "" : " at " + line, tag,
                                   above ? "is above" : "has come near", process.tag_ub);
    if (tags.calls > 1) finding_.summary += fmt::format(" It has risen there from {} in {} calls.", from, tags.calls);
    finding_.evidence = {"another MPI may allow less or more; each allows at least 32767"};
    finding_.confidence = above ? 0.95 : 0.8;
  }

  Context& context_;
  Finding finding_;
};

}  // namespace

std::vector<Finding> FindTagOverflow(Context& context) { return TagRule(context).Find(); }

}  // namespace ddbg::analyzer
