// PyTorch jobs whose first process group is never made: who joins is told by the hooks before init_process_group, which
// may wait for ever, and whether it came of it afterwards.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "analyzer/find/start_up.h"
#include "analyzer/model/describe.h"
#include "analyzer/model/told.h"

namespace ddbg::analyzer {
namespace {

constexpr double kLongSeconds = 10.0;  // to import PyTorch takes a rank long enough

struct Joining {
  size_t process = kNoIndex;
  size_t event = 0;  // index of the call that told it
  int32_t rank = -1, size = -1;
  std::string text;  // "rank 1 of 4 over gloo by 10.0.0.1:29500, node1 is 127.0.1.1"
  std::string own_name, own_address;
  std::string failure;  // "" if it did not fail
  bool ended = false;   // well or not
  double seconds = 0;   // until then, or until the recording ends
};

int32_t NumberAfter(const std::string& text, std::string_view word) {
  size_t at = text.find(word);
  int32_t number = -1;
  if (at != std::string::npos) std::from_chars(text.data() + at + word.size(), text.data() + text.size(), number);
  return number;
}

// What became of it.
void FindOutcome(const Context& context, Joining* joining) {
  int64_t until_ns = context.situations.end_ns, since_ns = context.StartNs(joining->process, joining->event);
  for (const ToldEvent& event : EventsTold(context.process(joining->process), "process_group")) {
    if (!event.text.starts_with("init ")) continue;
    constexpr std::string_view kFailed = "init failed: ";
    joining->ended = true;
    joining->failure = event.text.starts_with(kFailed) ? event.text.substr(kFailed.size()) : "";
    until_ns = context.EndNs(joining->process, event.call);
  }
  if (!context.situation(joining->process).alive_at_end())
    until_ns = std::min(until_ns, context.timeline.At(joining->process, context.process(joining->process).end.t_ns));
  joining->seconds = std::max(0.0, static_cast<double>(until_ns - since_ns) / 1e9);
}

// Whoever is in a collective has a group, whatever was told of it.
bool HasMet(const Process& process) {
  return std::any_of(process.calls.begin(), process.calls.end(),
                     [](const Call& call) { return call.known() && call.info().kind == CallKind::Collective; });
}

std::vector<Joining> WhoJoins(const Context& context) {
  std::vector<Joining> all;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    std::vector<ToldEvent> events = EventsTold(context.process(i), "joining");
    if (events.empty()) continue;
    Joining joining;
    joining.process = i;
    joining.event = events.back().call;
    joining.text = events.back().text;
    joining.rank = NumberAfter(joining.text, "rank ");
    joining.size = NumberAfter(joining.text, " of ");
    size_t is = joining.text.rfind(" is "), comma = joining.text.rfind(", ");
    if (is != std::string::npos && comma < is) {
      joining.own_name = joining.text.substr(comma + 2, is - comma - 2);
      joining.own_address = joining.text.substr(is + 4);
    }
    FindOutcome(context, &joining);
    all.push_back(std::move(joining));
  }
  return all;
}

std::string Who(const Context& context, const Joining& joining) {
  const Process& p = context.process(joining.process);
  std::string local = p.local_rank >= 0 ? fmt::format(", local rank {}", p.local_rank) : "";
  std::string state = !joining.failure.empty()
                          ? fmt::format(" failed after {:.1f} s: {}", joining.seconds, joining.failure)
                          : fmt::format(" waits for {:.1f} s", joining.seconds);
  return fmt::format("pid {} on {}{}, joins as {}:{}", p.pid, p.host, local, joining.text, state);
}

Finding Begin(const Context& context, const char* kind, const std::vector<Joining>& all, const Joining& first,
              const char* field, std::string expected, std::string actual) {
  Finding finding =
      BeginStartUp(context, kind, first.process, first.event, field, std::move(expected), std::move(actual));
  finding.first.rank = first.rank;
  finding.first.call_name = "init_process_group";
  for (const Joining& each : all) finding.evidence.push_back(Who(context, each));
  return finding;
}

std::vector<int32_t> Unclaimed(const std::map<int32_t, std::vector<const Joining*>>& claims, int32_t size) {
  std::vector<int32_t> unclaimed;
  for (int32_t rank = 0; rank < size; ++rank)
    if (!claims.count(rank)) unclaimed.push_back(rank);
  return unclaimed;
}

std::map<int32_t, std::vector<const Joining*>> Claims(const std::vector<Joining>& all) {
  std::map<int32_t, std::vector<const Joining*>> claims;
  for (const Joining& each : all)
    if (each.rank >= 0) claims[each.rank].push_back(&each);
  return claims;
}

std::optional<Finding> ClaimedTwice(const Context& context, const std::vector<Joining>& all) {
  auto claims = Claims(all);
  std::vector<int32_t> twice;
  for (const auto& [rank, claimants] : claims)
    if (claimants.size() > 1 && Overlap(context, claimants[0]->process, claimants[1]->process)) twice.push_back(rank);
  if (twice.empty()) return std::nullopt;
  std::vector<int32_t> unclaimed = Unclaimed(claims, all[0].size);
  bool all_there = static_cast<int32_t>(all.size()) >= all[0].size;
  bool local = all_there && !unclaimed.empty() && std::all_of(all.begin(), all.end(), [&](const Joining& each) {
                 return context.process(each.process).local_rank == each.rank;
               });
  const Joining& second = *claims[twice[0]][1];
  Finding finding =
      Begin(context, "duplicate_rank", all, second, "rank", "a rank of its own", std::to_string(second.rank));
  finding.culprit_ranks = twice;
  bool one = twice.size() == 1;
  std::string others =
      unclaimed.empty() ? "" : fmt::format(", {} by none{}", RankList(unclaimed), all_there ? "" : " so far");
  finding.summary =
      fmt::format("{} {} claimed by {} processes{}{}: the world of {} never comes together.{}", RankList(twice),
                  one ? "is" : "are", claims[twice[0]].size(), one ? "" : " each", others, all[0].size,
                  local ? " Each has its local rank for a rank: the local rank was used as the global rank." : "");
  return finding;
}

bool IsLoopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

// gloo gives the others the address of its host's name. One that means "this host" to everybody leads nowhere.
std::optional<Finding> LoopbackAddress(const Context& context, const std::vector<Joining>& all) {
  std::set<std::string> hosts;
  const Joining* failed = nullptr;
  std::vector<int32_t> culprits;
  const Joining* first = nullptr;
  double longest = 0;
  for (const Joining& each : all) {
    hosts.insert(context.process(each.process).host);
    if (each.failure.find("[127.") != std::string::npos || each.failure.find("[::1]") != std::string::npos)
      failed = &each;
    if (!each.ended || !each.failure.empty()) longest = std::max(longest, each.seconds);
    if (!IsLoopback(each.own_address)) continue;
    culprits.push_back(each.rank);
    if (!first) first = &each;
  }
  if (!first || hosts.size() < 2 || (!failed && longest < kLongSeconds)) return std::nullopt;
  Finding finding =
      Begin(context, "init_error", all, *first, "address", "one that other hosts can reach", first->own_address);
  std::sort(culprits.begin(), culprits.end());
  finding.culprit_ranks = std::move(culprits);
  std::string met =
      failed ? fmt::format(" Rank {} tried such an address and failed: {}.", failed->rank, failed->failure) : "";
  finding.summary = fmt::format(
      "{} told the others an address of its own host only: the host's name {} is {} there, and gloo gives that to "
      "ranks on "
      "other hosts.{} No rank came to a collective.",
      RankList(finding.culprit_ranks), first->own_name, first->own_address, met);
  finding.confidence = failed ? 0.95 : 0.8;
  return finding;
}

std::optional<Finding> NotAllCame(const Context& context, const std::vector<Joining>& all) {
  auto claims = Claims(all);
  std::vector<int32_t> missing = Unclaimed(claims, all[0].size);
  double longest = 0;
  for (const Joining& each : all) longest = std::max(longest, each.seconds);
  if (missing.empty() || claims.empty() || longest < kLongSeconds) return std::nullopt;
  Finding finding = Begin(context, "missing_rank", all, all[0], "arrival", fmt::format("{} ranks", all[0].size),
                          fmt::format("{} ranks", claims.size()));
  finding.culprit_ranks = missing;
  finding.first.rank = missing[0];
  finding.summary = fmt::format("{} never called init_process_group; the other {} wait there for {:.1f} s.",
                                RankList(missing), claims.size(), longest);
  finding.confidence = 0.7;
  return finding;
}

}  // namespace

std::optional<Finding> FindProcessGroupTrouble(const Context& context) {
  std::vector<Joining> all = WhoJoins(context);
  bool made = std::any_of(all.begin(), all.end(), [&](const Joining& each) {
    return (each.ended && each.failure.empty()) || HasMet(context.process(each.process));
  });
  if (all.empty() || made) return std::nullopt;
  bool alike = std::all_of(all.begin(), all.end(), [&](const Joining& each) { return each.size == all[0].size; });
  if (!alike || all[0].size < 2) return std::nullopt;
  std::optional<Finding> finding = ClaimedTwice(context, all);
  if (!finding) finding = LoopbackAddress(context, all);
  if (!finding) finding = NotAllCame(context, all);
  return finding;
}

}  // namespace ddbg::analyzer
