// The stream per thread given to a communicator whose calls do not wait: NCCL may put the work on the stream of a
// thread of its own, beside what it should follow (nccl#1976). It hangs nothing and spoils data now and then.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/context/context.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

size_t FirstMisuse(const Process& process) {
  for (size_t i = 0; i < process.calls.size(); ++i) {
    const Call& call = process.calls[i];
    if (!IsStreamWork(call)) continue;
    auto stream = process.streams.find(static_cast<uint32_t>(call.tag));
    auto comm = process.comms.find(call.comm);
    if (stream == process.streams.end() || stream->second.kind != "per-thread") continue;
    if (comm != process.comms.end() && !comm->second.blocking) return i;
  }
  return kNoIndex;
}

}  // namespace

std::vector<Finding> FindStreamMisuse(Context& context) {
  Finding finding;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    size_t call = FirstMisuse(context.process(i));
    if (call == kNoIndex) continue;
    finding.culprit_ranks.push_back(context.rank(i));
    if (finding.first.process == kNoIndex) finding.first = context.Event(i, call);
  }
  if (finding.culprit_ranks.empty()) return {};
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  finding.kind = "per_thread_stream";
  finding.proof = Proof::kState;
  finding.confidence = 0.6;
  finding.first.field = "stream";
  finding.first.expected = "a stream of the program's own";
  finding.first.actual = "cudaStreamPerThread";
  std::string line = context.Line(finding.first.process, finding.first.call);
  finding.summary = fmt::format(
      "{} {} cudaStreamPerThread to {}{}, whose calls do not wait (blocking = 0): another thread of NCCL's may carry "
      "it "
      "out, on its own stream per thread, out of order with the program's work.",
      RankList(finding.culprit_ranks), finding.culprit_ranks.size() == 1 ? "gives" : "give",
      context.Describe(finding.first.process, finding.first.call), line.empty() ? "" : " at " + line);
  return {finding};
}

}  // namespace ddbg::analyzer
