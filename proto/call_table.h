// A trace's call ids in terms of this build. A trace names the functions its ids stand for, since each build numbers
// its own table.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proto/call.h"

namespace ddbg {

// A name this build does not know.
inline constexpr uint16_t kUnknownCall = 0xffff;

class CallTable {
 public:
  CallTable() = default;

  template <typename Names>
  explicit CallTable(const Names& names) {
    for (const auto& name : names) own_.push_back(OwnId(name));
  }

  // Ids below kFirstCall are the same everywhere.
  uint16_t Own(uint16_t trace_id) const {
    if (trace_id < kFirstCall) return trace_id;
    size_t index = trace_id - kFirstCall;
    return index < own_.size() ? own_[index] : kUnknownCall;
  }

  // nullptr: not a call of this build.
  const CallInfo* Info(uint16_t trace_id) const {
    uint16_t own = Own(trace_id);
    return own < kFirstCall || own == kUnknownCall ? nullptr : &kCalls[own - kFirstCall];
  }

 private:
  static uint16_t OwnId(std::string_view name) {
    static const auto ids = [] {
      std::unordered_map<std::string_view, uint16_t> map;
      for (size_t i = 0; i < kCallCount; ++i) map[kCalls[i].name] = static_cast<uint16_t>(kFirstCall + i);
      return map;
    }();
    auto found = ids.find(name);
    return found == ids.end() ? kUnknownCall : found->second;
  }

  std::vector<uint16_t> own_;  // by trace id − kFirstCall
};

}  // namespace ddbg
