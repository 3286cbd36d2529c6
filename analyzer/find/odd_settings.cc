#include "analyzer/find/odd_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kMostShown = 80;  // characters of a value

std::string Shown(const std::string& value) {
  if (value.empty()) return "not set";
  return value.size() <= kMostShown ? value : value.substr(0, kMostShown) + "…";
}

// Values of one setting: which processes have each. Processes that lack it are not in it.
using Votes = std::map<std::string, std::vector<size_t>>;

void CountThoseWithout(const std::vector<size_t>& processes, Votes* votes) {
  std::vector<size_t> with;
  for (const auto& [value, who] : *votes) with.insert(with.end(), who.begin(), who.end());
  std::sort(with.begin(), with.end());
  for (size_t process : processes)
    if (!std::binary_search(with.begin(), with.end(), process)) (*votes)[""].push_back(process);
}

// The same values side by side on each of several hosts, as of a network card a process.
bool IsSpreadOverEachHost(const Context& context, const Votes& votes) {
  std::map<std::string, std::set<std::string>> by_host;
  for (const auto& [value, who] : votes)
    for (size_t process : who) by_host[context.process(process).host].insert(value);
  return by_host.size() > 1 && std::all_of(by_host.begin(), by_host.end(), [&](const auto& host) {
           return host.second.size() > 1 && host.second == by_host.begin()->second;
         });
}

// What a spawn gives its children is not what the launcher gives.
bool IsOfOneValueInEachWorld(const Context& context, const Votes& votes) {
  std::map<int32_t, const std::string*> by_world;
  for (const auto& [value, who] : votes)
    for (size_t process : who)
      if (*by_world.try_emplace(context.process(process).world, &value).first->second != value) return false;
  return true;
}

// Two values or three; more, or a value each, is what differs by design.
bool LooksMeantToDiffer(const Context& context, const Votes& votes, size_t processes) {
  return votes.size() > 3 || (votes.size() == processes && processes > 2) || IsSpreadOverEachHost(context, votes) ||
         IsOfOneValueInEachWorld(context, votes);
}

std::vector<int32_t> RanksOf(const Context& context, const std::vector<size_t>& processes) {
  std::vector<int32_t> ranks;
  for (size_t process : processes) ranks.push_back(context.rank(process));
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

OddSetting Judge(const Context& context, const JobSetting& setting, const Votes& votes, size_t processes) {
  OddSetting odd;
  odd.sort = setting.sort;
  odd.key = setting.key;
  auto most = std::max_element(votes.begin(), votes.end(),
                               [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  bool tie = 2 * most->second.size() <= processes;
  auto first = std::min_element(votes.begin(), votes.end(),
                                [](const auto& a, const auto& b) { return a.second[0] < b.second[0]; });
  auto usual = tie ? first : most;
  odd.usual = usual->first;
  for (const auto& [value, who] : votes) {
    if (value == odd.usual) continue;
    if (odd.process == kNoIndex || who[0] < odd.process) odd.process = who[0], odd.odd = value;
    std::vector<int32_t> ranks = RanksOf(context, who);
    if (!tie) odd.ranks.insert(odd.ranks.end(), ranks.begin(), ranks.end());
  }
  std::sort(odd.ranks.begin(), odd.ranks.end());
  odd.sentence = fmt::format("{} is {} on {}", odd.key, Shown(odd.usual), RankList(RanksOf(context, usual->second)));
  for (const auto& [value, who] : votes)
    if (value != odd.usual) odd.sentence += fmt::format(", {} on {}", Shown(value), RankList(RanksOf(context, who)));
  if (tie)
    for (const auto& [value, who] : votes)
      for (size_t process : who) odd.both_sides.push_back(context.rank(process));
  std::sort(odd.both_sides.begin(), odd.both_sides.end());
  return odd;
}

}  // namespace

std::vector<OddSetting> OddSettings(const Context& context, const std::vector<size_t>& processes,
                                    SettingReader reader) {
  std::map<std::pair<JobSetting::Sort, std::string>, Votes> all;
  std::vector<size_t> each = processes;
  std::sort(each.begin(), each.end());
  each.erase(std::unique(each.begin(), each.end()), each.end());
  for (size_t process : each)
    for (JobSetting& setting : SettingsOf(context.process(process)))
      if (Concerns(setting, reader)) all[{setting.sort, setting.key}][setting.value].push_back(process);
  std::vector<OddSetting> odd;
  for (auto& [key, votes] : all) {
    if (key.first == JobSetting::kVariable || key.first == JobSetting::kAddress) CountThoseWithout(each, &votes);
    size_t there = 0;
    for (const auto& [value, who] : votes) there += who.size();
    if (votes.size() < 2 || LooksMeantToDiffer(context, votes, there)) continue;
    odd.push_back(Judge(context, {key.first, key.second, ""}, votes, there));
  }
  return odd;
}

std::vector<OddSetting> OddSettings(const Context& context, SettingReader reader) {
  std::vector<size_t> processes;
  for (size_t i = 0; i < context.run.processes.size(); ++i)
    if (context.situation(i).communicates || (context.rank(i) >= 0 && !context.process(i).calls.empty()))
      processes.push_back(i);
  return OddSettings(context, processes, reader);
}

double ConfidenceIn(const OddSetting& setting) {
  bool version = setting.sort == JobSetting::kVersion;
  double confidence = version ? 0.8 : setting.sort == JobSetting::kVariable ? 0.6 : 0.7;
  return setting.ranks.empty() ? std::min(confidence, 0.5) : confidence;
}

}  // namespace ddbg::analyzer
