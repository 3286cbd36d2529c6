// One JSON object on one line, put together key by key: for output of millions of lines. Values that come again and
// again can be kept as the JSON text of StringText or of a dumped Json and added by Raw.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

#include "analyzer/render/json.h"

namespace ddbg::analyzer {

class JsonLine {
 public:
  // Keys are plain ASCII without quotes.
  void Raw(std::string_view key, std::string_view json) {
    fmt::format_to(std::back_inserter(text_), "{}\"{}\":{}", text_.size() > 1 ? "," : "", key, json);
  }
  void Number(std::string_view key, std::integral auto value) {
    fmt::format_to(std::back_inserter(text_), "{}\"{}\":{}", text_.size() > 1 ? "," : "", key, value);
  }
  void Null(std::string_view key) { Raw(key, "null"); }

  // The finished line; begins a new one.
  const std::string& Finish() {
    text_ += "}\n";
    done_.swap(text_);
    text_.clear();
    text_.push_back('{');
    return done_;
  }

  static std::string StringText(std::string_view value) { return Dump(Json(std::string(value))); }

 private:
  std::string text_ = "{";
  std::string done_;
};

}  // namespace ddbg::analyzer
