#include "analyzer/model/switches.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace ddbg::analyzer {
namespace {

struct Switch {
  std::string_view name, by_default, meaning;
};

constexpr Switch kSwitches[] = {
#define DDBG_SWITCH(name, by_default, meaning) {#name, by_default, meaning},
#include "proto/switches.def"
#undef DDBG_SWITCH
};

}  // namespace

std::string SwitchesHelp() {
  size_t width = 0;
  for (const Switch& s : kSwitches) width = std::max(width, s.name.size());
  std::string text = "Environment variables of the traced processes:\n";
  for (const Switch& s : kSwitches) {
    text += fmt::format("  {:<{}}  {} (default: {})\n", s.name, width, s.meaning, s.by_default);
  }
  return text;
}

}  // namespace ddbg::analyzer
