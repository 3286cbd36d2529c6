// The environment of a process that is to be started: "NAME=value" entries in order. Changing it does not change our
// own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddbg::analyzer {

class Environment {
 public:
  static Environment Current();
  Environment() = default;
  explicit Environment(std::vector<std::string> entries) : entries_(std::move(entries)) {}

  // nullopt if unset; an empty value is a value.
  std::optional<std::string> Get(std::string_view name) const;
  // Unset and empty are the same here.
  std::string GetOr(std::string_view name, std::string_view otherwise) const;
  void Set(std::string_view name, std::string_view value);
  void Unset(std::string_view name);

  const std::vector<std::string>& entries() const { return entries_; }
  // For execve: ends with a null pointer, valid until the next change.
  std::vector<char*> Pointers() const;

 private:
  std::vector<std::string> entries_;
};

}  // namespace ddbg::analyzer
