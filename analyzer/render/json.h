// JSON of text that need not be UTF-8: what is not becomes U+FFFD.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ddbg::analyzer {

using Json = nlohmann::ordered_json;

inline std::string Dump(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ddbg::analyzer
