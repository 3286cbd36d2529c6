#include "analyzer/find/odd_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/describe.h"
#include "analyzer/find/nccl_claims.h"

namespace ddbg::analyzer {
namespace {

constexpr char kVersion[] = "NCCL's version";

std::string ValueOf(const Process& process, const std::string& key) {
  return key == kVersion ? NcclVersion(process) : VariableOf(process, key);
}

std::string Shown(const std::string& value) { return value.empty() ? "not set" : value; }

}  // namespace

std::vector<OddSetting> OddSettings(const Context& context, const std::vector<size_t>& processes) {
  std::set<std::string> keys = {kVersion};
  for (size_t process : processes)
    for (const KeyValue& variable : context.process(process).environment)
      if (variable.key.starts_with("NCCL_") && !variable.key.starts_with("NCCL_DEBUG")) keys.insert(variable.key);
  std::vector<OddSetting> odd;
  for (const std::string& key : keys) {
    std::map<std::string, std::vector<int32_t>> ranks;
    for (size_t process : processes) ranks[ValueOf(context.process(process), key)].push_back(context.rank(process));
    if (ranks.size() < 2) continue;
    auto most = std::max_element(ranks.begin(), ranks.end(),
                                 [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    bool tie = std::any_of(ranks.begin(), ranks.end(), [&](const auto& value) {
      return value.first != most->first && value.second.size() == most->second.size();
    });
    OddSetting setting;
    for (auto& [value, who] : ranks) {
      std::sort(who.begin(), who.end());
      setting.sentence +=
          fmt::format("{}{} on {}", setting.sentence.empty() ? key + " is " : ", ", Shown(value), RankList(who));
      if (!tie && value != most->first) setting.ranks.insert(setting.ranks.end(), who.begin(), who.end());
    }
    std::sort(setting.ranks.begin(), setting.ranks.end());
    odd.push_back(std::move(setting));
  }
  return odd;
}

}  // namespace ddbg::analyzer
