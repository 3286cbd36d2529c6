#include "analyzer/model/environment.h"

#include <unistd.h>

#include <algorithm>

namespace ddbg::analyzer {
namespace {

bool IsNamed(const std::string& entry, std::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
}

}  // namespace

Environment Environment::Current() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry && *entry; ++entry) entries.emplace_back(*entry);
  return Environment(std::move(entries));
}

std::optional<std::string> Environment::Get(std::string_view name) const {
  for (const std::string& entry : entries_) {
    if (IsNamed(entry, name)) return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::string Environment::GetOr(std::string_view name, std::string_view otherwise) const {
  std::optional<std::string> value = Get(name);
  return value && !value->empty() ? *value : std::string(otherwise);
}

void Environment::Set(std::string_view name, std::string_view value) {
  std::string entry = std::string(name) + "=" + std::string(value);
  for (std::string& old : entries_) {
    if (!IsNamed(old, name)) continue;
    old = std::move(entry);
    return;
  }
  entries_.push_back(std::move(entry));
}

void Environment::Unset(std::string_view name) {
  std::erase_if(entries_, [&](const std::string& entry) { return IsNamed(entry, name); });
}

std::vector<char*> Environment::Pointers() const {
  std::vector<char*> pointers;
  for (const std::string& entry : entries_) pointers.push_back(const_cast<char*>(entry.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace ddbg::analyzer
