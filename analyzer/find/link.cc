// Rule 7 for pairs of ranks: messages of one pair take much longer than those of all others, although both ends are in
// time. Only the time counts in which the receiver waits and the message was already sent.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "analyzer/context/context.h"
#include "analyzer/match/message_times.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/describe.h"
#include "analyzer/model/format.h"

namespace ddbg::analyzer {
namespace {

// The middle message of the pair against the middle one of the others, and against their slowest tenth, which is what a
// busy node does to all.
constexpr float kTimesMiddle = 5, kTimesSlowTenth = 3;
constexpr double kLoss = 0.05;  // of the time over which the pair talks
constexpr int64_t kShortestNs = 1'000'000'000;
constexpr size_t kFewestMessages = 16, kFewestOthers = 2, kBlocks = 8;
constexpr double kConsistent = 0.9;

struct Pair {
  size_t sender = kNoIndex, receiver = kNoIndex;  // processes
  std::vector<float> transfers;                   // ns, in order
  // The same if the sender's clock is as far behind, or ahead, as it may be; empty within a host.
  std::vector<float> sent_late, sent_early;
  int64_t first_ns = INT64_MAX, last_ns = 0;  // the receiver's clock
  size_t call = kNoIndex;                     // a slow receive, of the receiver
  const std::vector<float>& Latest() const { return sent_late.empty() ? transfers : sent_late; }
  const std::vector<float>& Earliest() const { return sent_early.empty() ? transfers : sent_early; }
  bool Has(size_t process) const { return sender == process || receiver == process; }
  bool IsSame(const Pair& other) const { return Has(other.sender) && Has(other.receiver); }
};

float At(std::vector<float> values, double share) {
  if (values.empty()) return 0;
  size_t index = std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return values[index];
}

class LinkRule {
 public:
  explicit LinkRule(Context& context) : context_(context) {}

  std::vector<Finding> Find() {
    Collect();
    std::vector<Finding> findings;
    for (auto& [size, by_ends] : pairs_) {
      std::vector<Pair> pairs;
      for (auto& [ends, pair] : by_ends)
        if (pair.transfers.size() >= kFewestMessages) pairs.push_back(std::move(pair));
      Judge(pairs, &findings);
    }
    std::stable_sort(findings.begin(), findings.end(),
                     [](const Finding& a, const Finding& b) { return a.confidence > b.confidence; });
    if (findings.size() > 1) findings.resize(1);
    return findings;
  }

 private:
  void Collect() {
    ForEachMessage(context_.run, context_.messages, [&](const Channel&, const MessageTime& time) {
      size_t sender = time.send->process, receiver = time.receive->process;
      if (sender == receiver) return;
      int64_t error_ns = context_.timeline.ErrorNs(sender, receiver, context_.timeline.At(sender, time.sent_ns));
      if (error_ns == kUnknownError) return;
      const Call& sent = context_.call(sender, time.send->call);
      uint64_t bytes = CallBytes(context_.process(sender), sent).value_or(0);
      Pair& pair = pairs_[std::bit_width(bytes)][{sender, receiver}];
      int64_t sent_ns = context_.timeline.Back(receiver, context_.timeline.At(sender, time.sent_ns));
      auto transfer = [&](int64_t from_ns) {
        return static_cast<float>(std::max<int64_t>(0, time.received_ns - std::max(from_ns, time.wait_from_ns)));
      };
      pair.sender = sender, pair.receiver = receiver;
      if (pair.call == kNoIndex && pair.transfers.size() == kFewestMessages) pair.call = time.receive->call;
      pair.transfers.push_back(transfer(sent_ns));
      if (error_ns > 0) {
        pair.sent_late.push_back(transfer(sent_ns + error_ns));
        pair.sent_early.push_back(transfer(sent_ns - error_ns));
      }
      pair.first_ns = std::min(pair.first_ns, time.received_ns),
      pair.last_ns = std::max(pair.last_ns, time.received_ns);
    });
  }

  void Judge(const std::vector<Pair>& pairs, std::vector<Finding>* findings) {
    if (pairs.size() < kFewestOthers + 1) return;
    const Pair* worst = nullptr;
    float longest = -1;
    for (const Pair& pair : pairs)
      if (float middle = At(pair.transfers, 0.5); middle > longest) worst = &pair, longest = middle;
    std::vector<const Pair*> others;
    for (const Pair& pair : pairs)
      if (!pair.Has(worst->sender) && !pair.Has(worst->receiver)) others.push_back(&pair);
    if (others.size() < kFewestOthers) {
      others.clear();
      for (const Pair& pair : pairs)
        if (!pair.IsSame(*worst)) others.push_back(&pair);
    }
    if (others.size() < kFewestOthers) return;
    std::vector<float> pool, most;
    for (const Pair* pair : others) {
      pool.insert(pool.end(), pair->transfers.begin(), pair->transfers.end());
      most.insert(most.end(), pair->Earliest().begin(), pair->Earliest().end());
    }
    float usual = At(pool, 0.5), slow_tenth = At(std::move(pool), 0.9);
    if (!IsSlow(*worst, usual) || longest < kTimesSlowTenth * slow_tenth) return;
    if (SurelyTakes(pairs, *worst) < kTimesMiddle * At(std::move(most), 0.5)) return;
    findings->push_back(Report(*worst, usual, EndThatIsSlowWithAll(pairs, *worst, usual)));
  }

  // At least so long, however wrong the clocks of their hosts are. What one direction gains by that the other loses: on
  // average of both it is less than for one of them.
  static float SurelyTakes(const std::vector<Pair>& pairs, const Pair& worst) {
    float alone = At(worst.Latest(), 0.5), both = 0;
    for (const Pair& back : pairs)
      if (back.sender == worst.receiver && back.receiver == worst.sender)
        both = std::min(alone + At(back.Earliest(), 0.5), At(worst.Earliest(), 0.5) + At(back.Latest(), 0.5)) / 2;
    return std::max(alone, both);
  }

  // On average, which clocks that are wrong do not change.
  static float OfBothDirections(const std::vector<Pair>& pairs, const Pair& pair) {
    float there = At(pair.transfers, 0.5);
    for (const Pair& back : pairs)
      if (!pair.sent_late.empty() && back.sender == pair.receiver && back.receiver == pair.sender)
        return (there + At(back.transfers, 0.5)) / 2;
    return there;
  }

  static double Lost(const Pair& pair, float usual) {
    double lost = 0;
    for (float transfer : pair.transfers) lost += transfer - usual;
    return lost;
  }

  static bool IsSlow(const Pair& pair, float usual) {
    double span = static_cast<double>(pair.last_ns - pair.first_ns);
    if (span < static_cast<double>(kShortestNs) || At(pair.transfers, 0.5) < kTimesMiddle * usual) return false;
    if (Lost(pair, usual) < kLoss * span) return false;
    size_t slow = 0;
    for (size_t j = 0; j < kBlocks; ++j) {
      auto begin = pair.transfers.begin() + pair.transfers.size() * j / kBlocks;
      auto end = pair.transfers.begin() + pair.transfers.size() * (j + 1) / kBlocks;
      slow += At({begin, end}, 0.5) >= kTimesMiddle * usual;
    }
    return static_cast<double>(slow) >= kConsistent * kBlocks;
  }

  // The same if the clocks are as wrong as they may be: the most.
  static float AtMostOfBothDirections(const std::vector<Pair>& pairs, const Pair& pair) {
    float most = OfBothDirections(pairs, pair);
    for (const Pair& back : pairs) {
      if (pair.sent_late.empty() || back.sender != pair.receiver || back.receiver != pair.sender) continue;
      most = std::max(most, (At(pair.Latest(), 0.5) + At(back.Earliest(), 0.5)) / 2);
      most = std::max(most, (At(pair.Earliest(), 0.5) + At(back.Latest(), 0.5)) / 2);
    }
    return most;
  }

  // A process whose messages are slow with two peers or more, all of them; kNoIndex: it is the pair. One line of it
  // that is fast ties its clock to the others', so where the clocks leave room for it all of them are slow.
  static size_t EndThatIsSlowWithAll(const std::vector<Pair>& pairs, const Pair& worst, float usual) {
    // Beside a link that is a thousand times too slow others of the same end are a little slow, too.
    float slow_ns = std::max(kTimesMiddle * usual, OfBothDirections(pairs, worst) / 4);
    for (size_t end : {worst.sender, worst.receiver}) {
      size_t slow = 0, all = 0;
      for (const Pair& pair : pairs) {
        if (!pair.Has(end) || pair.IsSame(worst)) continue;
        ++all;
        slow += AtMostOfBothDirections(pairs, pair) >= slow_ns;
      }
      if (all > 0 && slow == all) return end;
    }
    return kNoIndex;
  }

  Finding Report(const Pair& pair, float usual, size_t end) {
    Finding finding;
    finding.kind = "slow_link";
    finding.proof = Proof::kTiming;
    finding.first = context_.Event(pair.receiver, pair.call);
    finding.first.field = "transfer";
    std::string middle = DurationText(static_cast<int64_t>(At(pair.transfers, 0.5)));
    finding.first.expected = DurationText(static_cast<int64_t>(usual)), finding.first.actual = middle;
    int32_t from = context_.rank(pair.sender), to = context_.rank(pair.receiver);
    finding.culprit_ranks = {std::min(from, to), std::max(from, to)};
    if (end != kNoIndex) finding.culprit_ranks = {context_.rank(end)};
    double span = static_cast<double>(pair.last_ns - pair.first_ns);
    finding.summary = fmt::format(
        "Messages from rank {} to rank {} take {}, those of other pairs {}, although both ends are in time: {}. {:.0f} "
        "% of "
        "the receiver's time is lost to it.",
        from, to, middle, finding.first.expected,
        end == kNoIndex ? "the link between the two" : fmt::format("all links of rank {}", context_.rank(end)),
        100 * Lost(pair, usual) / span);
    finding.evidence.push_back("pattern: link");
    finding.evidence.push_back(fmt::format("{}, counted from when it was sent and the receiver waited",
                                           Counted(pair.transfers.size(), "message")));
    finding.confidence = 0.8;
    return finding;
  }

  Context& context_;
  std::map<int, std::map<std::pair<size_t, size_t>, Pair>> pairs_;  // by size (power of two), by ends
};

}  // namespace

std::vector<Finding> FindSlowLinks(Context& context) { return LinkRule(context).Find(); }

}  // namespace ddbg::analyzer
