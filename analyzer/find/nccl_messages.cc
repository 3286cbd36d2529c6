// Sends and receives of NCCL that meet and do not fit. NCCL compares nothing: too much sent writes beyond nothing and
// waits, too little leaves the receiver waiting or with an old tail.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/context/context.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

bool LostAny(const Process& process) { return process.lost_total() > 0 || !process.damage.empty(); }

bool Fits(const Process& sender, const Call& send, const Process& receiver, const Call& receive) {
  std::optional<uint64_t> sent = CallBytes(sender, send), received = CallBytes(receiver, receive);
  return !sent || !received || *sent == *received;
}

std::string At(Context& context, size_t process, size_t call) {
  std::string line = context.Line(process, call);
  return line.empty() ? "" : " at " + line;
}

Finding Report(Context& context, const End& send, const End& receive) {
  const Call& sent = context.call(send.process, send.call);
  const Call& received = context.call(receive.process, receive.call);
  bool counts = sent.count != received.count;
  Finding finding;
  finding.kind = "argument_mismatch";
  finding.failure_class = "state_corruption";
  finding.proof = Proof::kMismatch;
  finding.confidence = 0.8;
  finding.first = context.Event(receive.process, receive.call);
  finding.first.field = counts ? "count" : "datatype";
  finding.first.expected =
      counts ? std::to_string(sent.count) : DatatypeName(context.process(send.process), sent.dtype);
  finding.first.actual =
      counts ? std::to_string(received.count) : DatatypeName(context.process(receive.process), received.dtype);
  finding.first.t_ns =
      std::max(context.StartNs(send.process, send.call), context.StartNs(receive.process, receive.call));
  finding.culprit_ranks = {context.rank(send.process), context.rank(receive.process)};
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  finding.summary =
      fmt::format("Rank {} called {}{}, and meets {}{} of rank {}: the two do not speak of as many bytes.",
                  context.rank(receive.process), context.Describe(receive.process, receive.call),
                  At(context, receive.process, receive.call), context.Describe(send.process, send.call),
                  At(context, send.process, send.call), context.rank(send.process));
  return finding;
}

}  // namespace

// The earliest only: once a pair is out of step, all that follows on it is.
std::vector<Finding> FindNcclMessages(Context& context) {
  std::vector<Finding> findings;
  for (const auto& [channel, ends] : context.messages.channels) {
    if (!ends.nccl || context.messages.uncounted) continue;
    for (const End& send : ends.sends) {
      if (send.partner >= kPartnerDropped) continue;
      const End& receive = ends.receives[send.partner];
      const Process& sender = context.process(send.process);
      const Process& receiver = context.process(receive.process);
      if (LostAny(sender) || LostAny(receiver)) break;
      if (Fits(sender, context.call(send.process, send.call), receiver, context.call(receive.process, receive.call)))
        continue;
      Finding finding = Report(context, send, receive);
      if (findings.empty())
        findings.push_back(std::move(finding));
      else if (finding.first.t_ns < findings[0].first.t_ns)
        findings[0] = std::move(finding);
      break;
    }
  }
  return findings;
}

}  // namespace ddbg::analyzer
