#include "analyzer/launch/tf_config.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "analyzer/launch/rank_sources.h"

namespace ddbg::analyzer {
namespace {

using Json = nlohmann::json;

std::string Text(const Json& json) {
  return json.is_string() ? json.get<std::string>() : json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A list, addresses by index, or a single one.
void AddAddresses(const Json& cluster, const char* job, std::vector<std::string>* addresses) {
  auto tasks = cluster.find(job);
  if (tasks == cluster.end()) return;
  if (!tasks->is_structured()) return addresses->push_back(Text(*tasks));
  for (const Json& task : *tasks) addresses->push_back(Text(task));
}

int64_t IndexOf(const Json& task) {
  auto index = task.find("index");
  if (index == task.end()) return -1;
  if (index->is_number_integer()) return index->get<int64_t>();
  if (!index->is_string()) return -1;
  const std::string& text = index->get_ref<const std::string&>();
  bool number = !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == text.npos;
  return number ? std::stoll(text) : -1;
}

TfConfig Read(const std::string& text) {
  TfConfig config;
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return config;
  auto cluster = json.find("cluster"), task = json.find("task");
  if (cluster == json.end()) return config;
  config.cluster = cluster->dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!cluster->is_object() || task == json.end() || !task->is_object()) return config;
  AddAddresses(*cluster, "chief", &config.chiefs);
  AddAddresses(*cluster, "master", &config.chiefs);
  AddAddresses(*cluster, "worker", &config.workers);
  if (auto type = task->find("type"); type != task->end() && type->is_string()) config.type = type->get<std::string>();
  config.index = IndexOf(*task);
  config.valid = !config.type.empty();
  return config;
}

bool IsChief(const TfConfig& config) { return config.type == "chief" || config.type == "master"; }

}  // namespace

bool TfConfig::InRange() const {
  const std::vector<std::string>& tasks = IsChief(*this) ? chiefs : workers;
  return index >= 0 && index < static_cast<int64_t>(tasks.size());
}

int32_t TfConfig::Rank() const {
  if (index < 0 || index > std::numeric_limits<int32_t>::max() / 2) return -1;
  if (IsChief(*this)) return static_cast<int32_t>(index);
  return type == "worker" ? static_cast<int32_t>(index + static_cast<int64_t>(chiefs.size())) : -1;
}

std::string TaskName(const TfConfig& config, int32_t rank) {
  size_t at = static_cast<size_t>(rank);
  if (at < config.chiefs.size()) return fmt::format("chief {} ({})", at, config.chiefs[at]);
  at -= config.chiefs.size();
  return at < config.workers.size() ? fmt::format("worker {} ({})", at, config.workers[at])
                                    : fmt::format("worker {}", at);
}

std::optional<TfConfig> TfConfigOf(const Process& process) {
  // What the environment has of it is cut after some thousand bytes.
  if (const std::string& text = LauncherVariable(process, "TF_CONFIG"); !text.empty()) return Read(text);
  for (const KeyValue& variable : process.environment)
    if (variable.key == "TF_CONFIG") return Read(variable.value);
  return std::nullopt;
}

}  // namespace ddbg::analyzer
