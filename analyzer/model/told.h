// What a program, or the hooks in it, told by name: events and values (shim/ddbg.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct ToldEvent {
  size_t call = 0;  // index into Process::calls
  std::string text;
  int64_t number = 0;
};

struct ToldValue {
  size_t call = 0;
  double value = 0;
};

// In order of time. Linear in the calls of the process where it told any of that name.
std::vector<ToldEvent> EventsTold(const Process& process, std::string_view name);
std::vector<ToldValue> ValuesTold(const Process& process, std::string_view name);

}  // namespace ddbg::analyzer
