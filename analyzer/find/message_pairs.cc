// The two ends of one message that do not fit: more was sent than the receive has room for, or it takes other types.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/context/context.h"
#include "analyzer/find/signature.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

class PairRule {
 public:
  explicit PairRule(Context& context) : context_(context) {}

  std::vector<Finding> Find() {
    if (context_.messages.uncounted) return {};
    for (const auto& [channel, ends] : context_.messages.channels) {
      if (ends.nccl || IsUnsure(channel)) continue;
      for (const End& send : ends.sends)
        if (send.partner < kPartnerDropped) Compare(send, ends.receives[send.partner]);
    }
    if (truncated_.first.process == kNoIndex && types_.first.process == kNoIndex) return {};
    // One fault a kind: it is one place in the program, again and again.
    std::vector<Finding> findings;
    for (Finding* finding : {&truncated_, &types_})
      if (finding->first.process != kNoIndex) findings.push_back(std::move(*finding));
    return findings;
  }

 private:
  // A lost record, or a receive from anyone that failed: which message met which receive is not known.
  bool IsUnsure(const Channel& channel) const {
    const CommGroup* group = context_.matching.Group(channel.comm_uid);
    if (!group) return true;
    for (int32_t end : {channel.source, channel.destination}) {
      const Member* member = group->OfCommRank(end);
      if (!member || context_.process(member->process).lost_total() > 0 ||
          !context_.process(member->process).damage.empty())
        return true;
      for (const Messages::Wild& wild : context_.messages.wild)
        if (wild.process == member->process && wild.comm_uid == channel.comm_uid && end == channel.destination)
          return true;
    }
    return false;
  }

  void Compare(const End& send, const End& receive) {
    if (receive.only_taken) return;
    const Call& sent = context_.call(send.process, send.call);
    const Call& taken = context_.call(receive.process, receive.call);
    if (FitAtSight(context_.process(send.process), sent, context_.process(receive.process), taken)) return;
    Amount out = AmountOf(context_.process(send.process), sent.count, sent.dtype);
    Amount in = AmountOf(context_.process(receive.process), taken.count, taken.dtype);
    if (!out.known || !in.known) return;
    if (out.bytes > in.bytes)
      KeepFirst(&truncated_, send, receive, out, in);
    else if (HaveOtherTypes(out, in))
      KeepFirst(&types_, send, receive, out, in);
  }

  // Most messages: of one type, and no more of it than there is room for.
  static bool FitAtSight(const Process& sender, const Call& sent, const Process& receiver, const Call& taken) {
    auto out = sender.dtypes.find(sent.dtype), in = receiver.dtypes.find(taken.dtype);
    return out != sender.dtypes.end() && in != receiver.dtypes.end() && sent.count <= taken.count &&
           out->second.size == in->second.size && out->second.base == in->second.base;
  }

  // Numbers of another kind or size. What old programs do with good reason is not meant: characters, logicals and
  // integers for each other, a complex number as two reals.
  static bool HaveOtherTypes(const Amount& out, const Amount& in) {
    auto is_number = [](const Amount& amount) {
      return amount.base.starts_with("integer") || amount.base.starts_with("real") ||
             amount.base.starts_with("complex");
    };
    if (out.bytes == 0 || !is_number(out) || !is_number(in) || out.base == in.base) return false;
    bool complex = out.base.starts_with("complex") || in.base.starts_with("complex");
    bool reals = !out.base.starts_with("integer") && !in.base.starts_with("integer");
    return !(complex && reals);
  }

  void KeepFirst(Finding* kept, const End& send, const End& receive, const Amount& out, const Amount& in) {
    int64_t t_ns = context_.StartNs(receive.process, receive.call);
    if (kept->first.process != kNoIndex && kept->first.t_ns <= t_ns) return;
    bool truncated = kept == &truncated_;
    *kept = Finding{};
    kept->kind = truncated ? "message_truncated" : "argument_mismatch";
    kept->proof = truncated ? Proof::kMismatch : Proof::kState;
    kept->first = context_.Event(receive.process, receive.call);
    kept->first.field = truncated ? "bytes" : "datatype";
    kept->first.expected = truncated ? std::to_string(out.bytes) : out.type;
    kept->first.actual = truncated ? std::to_string(in.bytes) : in.type;
    kept->culprit_ranks = {context_.rank(send.process), context_.rank(receive.process)};
    std::sort(kept->culprit_ranks.begin(), kept->culprit_ranks.end());
    kept->culprit_ranks.erase(std::unique(kept->culprit_ranks.begin(), kept->culprit_ranks.end()),
                              kept->culprit_ranks.end());
    std::string from = Placed(send), to = Placed(receive);
    if (truncated)
      kept->summary =
          fmt::format("Rank {} has room for {} bytes in {}, and rank {} sent it {} bytes with {}.",
                      context_.rank(receive.process), in.bytes, to, context_.rank(send.process), out.bytes, from);
    else
      kept->summary =
          fmt::format("Rank {} takes {} in {} for what rank {} sent as {} with {}.", context_.rank(receive.process),
                      in.type, to, context_.rank(send.process), out.type, from);
    kept->evidence = {fmt::format("rank {} is {}", context_.rank(receive.process), context_.WhereIs(receive.process))};
    kept->confidence = truncated ? 0.95 : 0.8;
  }

  std::string Placed(const End& end) {
    std::string line = context_.Line(end.process, end.call);
    return context_.Describe(end.process, end.call) + (line.empty() ? "" : " at " + line);
  }

  Context& context_;
  Finding truncated_, types_;
};

}  // namespace

std::vector<Finding> FindMessageMismatches(Context& context) { return PairRule(context).Find(); }

}  // namespace ddbg::analyzer
