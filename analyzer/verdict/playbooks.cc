#include "analyzer/verdict/playbooks.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "analyzer/launch/launch.h"
#include "analyzer/verdict/playbook_values.h"

namespace ddbg::analyzer {

namespace {

using Json = nlohmann::ordered_json;

size_t LineAt(std::string_view text, size_t position) {
  return 1 + static_cast<size_t>(std::count(text.begin(), text.begin() + std::min(position, text.size()), '\n'));
}

}  // namespace

// One file. The first thing that is wrong becomes the error.
class PlaybookReader {
 public:
  PlaybookReader(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}

  Result<void> Read(Playbooks* playbooks) {
    Json json;
    try {
      json = Json::parse(text_);
    } catch (const Json::parse_error& error) {
      return Error{fmt::format("{}, line {}: this is no JSON ({})", name_, LineAt(text_, error.byte), Why(error))};
    }
    if (!json.is_object()) return At("", "the file must hold one object");
    for (const auto& [key, value] : json.items()) {
      if (key == "schema" && value != "ddbg.playbooks/1") return At(key, "the schema must be \"ddbg.playbooks/1\"");
      if (key == "schema") continue;
      if (key != "kinds" && key != "classes") return At(key, fmt::format("there is no \"{}\" in a playbook file", key));
      if (Result<void> rows = ReadRows(key, value, key == "kinds" ? &kinds_ : &classes_); !rows) return rows;
    }
    for (const auto& [kind, row] : kinds_) Playbooks::Overlay(row, &playbooks->kinds_[kind]);
    for (const auto& [name, row] : classes_) Playbooks::Overlay(row, &playbooks->classes_[name]);
    return {};
  }

 private:
  using Rows = std::map<std::string, Playbooks::Row, std::less<>>;

  // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error …": from the last colon on.
  static std::string Why(const Json::parse_error& error) {
    std::string text = error.what();
    size_t at = text.find(": ");
    return at == std::string::npos ? text : text.substr(at + 2);
  }

  // A key or value is a whole string of the file, and the row before the field says which of several it is.
  Error At(const std::string& token, const std::string& why) const {
    size_t position = 0;
    for (const std::string& step : path_) position = std::min(text_.find(Json(step).dump(), position), text_.size());
    if (!token.empty()) position = std::min(text_.find(Json(token).dump(), position), text_.size());
    return {fmt::format("{}, line {}: {}", name_, position == text_.size() ? 1 : LineAt(text_, position), why)};
  }

  Result<void> ReadRows(const std::string& section, const Json& json, Rows* rows) {
    path_ = {section};
    if (!json.is_object()) return At("", fmt::format("\"{}\" must be an object", section));
    for (const auto& [kind, fields] : json.items()) {
      path_ = {section, kind};
      if (!fields.is_object()) return At("", fmt::format("\"{}\" must be an object", kind));
      Playbooks::Row row;
      for (const auto& [field, value] : fields.items())
        if (Result<void> read = ReadField(field, value, &row); !read) return read;
      (*rows)[kind] = std::move(row);
    }
    path_.clear();
    return {};
  }

  Result<void> ReadField(const std::string& field, const Json& value, Playbooks::Row* row) {
    if (field == "queries") return ReadTexts(field, value, &row->queries);
    if (field == "next_steps") return ReadTexts(field, value, &row->next_steps);
    if (field == "likely_classes") return ReadTexts(field, value, &row->likely_classes);
    if (field == "captures") return ReadTexts(field, value, &row->captures);
    if (field == "reduction") return ReadText(field, value, &row->reduction);
    if (field == "owner") return ReadText(field, value, &row->owner);
    if (field != "tier") return At(field, fmt::format("a playbook has no field \"{}\"", field));
    if (!value.is_number_integer() || value < 1 || value > 3) return At(field, "\"tier\" must be 1, 2 or 3");
    row->tier = value.get<int>();
    return {};
  }

  Result<void> ReadTexts(const std::string& field, const Json& value, std::optional<std::vector<std::string>>* texts) {
    if (!value.is_array()) return At(field, fmt::format("\"{}\" must be a list of texts", field));
    texts->emplace();
    for (const Json& entry : value) {
      std::optional<std::string> text;
      if (Result<void> read = ReadText(field, entry, &text); !read) return read;
      (*texts)->push_back(std::move(*text));
    }
    return {};
  }

  Result<void> ReadText(const std::string& field, const Json& value, std::optional<std::string>* text) {
    if (!value.is_string()) return At(field, fmt::format("\"{}\" must hold text", field));
    *text = value.get<std::string>();
    if (std::string name = UnknownPlaceholder(**text); !name.empty())
      return At(**text, fmt::format("there is no placeholder {{{}}}", name));
    return {};
  }

  static std::string UnknownPlaceholder(std::string_view text) {
    for (size_t at = text.find('{'); at != text.npos; at = text.find('{', at + 1)) {
      size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at + 1);
      if (end == text.npos || text[end] != '}' || end == at + 1) continue;  // as awk's {print $1}
      std::string_view name = text.substr(at + 1, end - at - 1);
      if (!IsPlaceholder(name)) return std::string(name);
    }
    return "";
  }

  std::string_view text_;
  std::string name_;
  std::vector<std::string> path_;
  Rows kinds_, classes_;
};

namespace {

template <typename T>
void Take(const std::optional<T>& from, std::optional<T>* to) {
  if (from) *to = from;
}

std::optional<std::string> FileText(const std::string& path) {
  std::error_code error;
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path, error)) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string Variable(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}

std::string UsersFile() {
  std::string config = Variable("XDG_CONFIG_HOME"), home = Variable("HOME");
  if (config.empty() && home.empty()) return "";
  return (config.empty() ? home + "/.config" : config) + "/ddbg/playbooks.json";
}

void AddFile(const std::string& path, bool named, LoadedPlaybooks* loaded) {
  std::optional<std::string> text = FileText(path);
  if (!text && named) loaded->troubles.push_back(path + " cannot be read; the other playbooks are used");
  if (!text) return;
  Result<void> added = loaded->playbooks.Add(*text, path);
  if (added)
    loaded->files.push_back(path);
  else
    loaded->troubles.push_back(added.error().text + "; this file is not used");
}

}  // namespace

std::string_view TierName(int tier) {
  constexpr std::string_view kNames[] = {"", "local", "minimal distributed", "topology-faithful"};
  return tier >= 1 && tier <= 3 ? kNames[tier] : "";
}

void Playbooks::Overlay(const Row& over, Row* row) {
  Take(over.queries, &row->queries);
  Take(over.next_steps, &row->next_steps);
  Take(over.likely_classes, &row->likely_classes);
  Take(over.captures, &row->captures);
  Take(over.tier, &row->tier);
  Take(over.reduction, &row->reduction);
  Take(over.owner, &row->owner);
}

Result<void> Playbooks::Add(std::string_view text, const std::string& name) {
  return PlaybookReader(text, name).Read(this);
}

Playbook Playbooks::Of(std::string_view kind, std::string_view failure_class) const {
  Row row;
  if (auto found = classes_.find(failure_class); found != classes_.end()) row = found->second;
  if (auto found = kinds_.find(kind); found != kinds_.end()) Overlay(found->second, &row);
  Playbook playbook;
  playbook.queries = row.queries.value_or(playbook.queries);
  playbook.next_steps = row.next_steps.value_or(playbook.next_steps);
  playbook.likely_classes = row.likely_classes.value_or(playbook.likely_classes);
  playbook.captures = row.captures.value_or(playbook.captures);
  playbook.tier = row.tier.value_or(0);
  playbook.reduction = row.reduction.value_or("");
  playbook.owner = row.owner.value_or("");
  return playbook;
}

std::vector<std::string> Playbooks::Kinds() const {
  std::vector<std::string> kinds;
  for (const auto& [kind, row] : kinds_) kinds.push_back(kind);
  return kinds;
}

LoadedPlaybooks LoadPlaybooks(const std::string& file) {
  LoadedPlaybooks loaded;
  if (Result<void> own = loaded.playbooks.Add(BuiltInPlaybooks(), "the built-in playbooks"); !own)
    loaded.troubles.push_back(own.error().text);
  AddFile(ProgramDirectory() + "/../share/ddbg/playbooks.json", false, &loaded);
  if (!file.empty())
    AddFile(file, true, &loaded);
  else if (std::string named = Variable("DDBG_PLAYBOOKS"); !named.empty())
    AddFile(named, true, &loaded);
  else if (std::string users = UsersFile(); !users.empty())
    AddFile(users, false, &loaded);
  return loaded;
}

}  // namespace ddbg::analyzer
