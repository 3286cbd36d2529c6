// Buffers of non-blocking sends that were written to before the send was over, as the library has seen by their
// checksums (DDBG_CHECK_BUFFERS, shim/mpi/buffers.h).
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyzer/context/context.h"
#include "analyzer/model/describe.h"
#include "analyzer/model/told.h"

namespace ddbg::analyzer {
namespace {

struct Modified {
  size_t process, post, seen_at;  // calls: that posted the send, and in which the difference showed
};

std::vector<Modified> ModifiedOf(const Context& context, size_t process) {
  std::vector<Modified> all;
  const auto& posted = context.messages.posted[process];
  for (const ToldEvent& event : EventsTold(context.process(process), "buffer_modified"))
    if (auto post = posted.find(static_cast<uint64_t>(event.number)); post != posted.end())
      all.push_back({process, post->second, event.call});
  return all;
}

}  // namespace

std::vector<Finding> FindModifiedBuffers(Context& context) {
  Finding finding;
  const Modified* first = nullptr;
  std::vector<std::vector<Modified>> by_process;
  for (size_t i = 0; i < context.run.processes.size(); ++i) by_process.push_back(ModifiedOf(context, i));
  for (const std::vector<Modified>& all : by_process) {
    if (all.empty()) continue;
    finding.culprit_ranks.push_back(context.rank(all[0].process));
    finding.evidence.push_back(
        fmt::format("rank {}: {} of its sends had their buffers written to before they were over",
                    context.rank(all[0].process), all.size()));
    for (const Modified& one : all)
      if (!first || context.StartNs(one.process, one.post) < context.StartNs(first->process, first->post)) first = &one;
  }
  if (!first) return {};
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  finding.kind = "buffer_modified";
  finding.proof = Proof::kState;
  finding.first = context.Event(first->process, first->post);
  finding.first.field = "buffer";
  finding.first.expected = "unchanged until the send is over";
  finding.first.actual = "changed";
  std::string line = context.Line(first->process, first->post);
  finding.summary = fmt::format(
      "Rank {} wrote to the buffer of {}{} before that send was over: what the peer got may be either.",
      context.rank(first->process), context.Describe(first->process, first->post), line.empty() ? "" : " at " + line);
  finding.confidence = 0.95;
  return {finding};
}

}  // namespace ddbg::analyzer
