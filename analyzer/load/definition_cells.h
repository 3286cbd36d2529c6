// How many ring cells definitions took, read from the raw bytes: a parsed message does not tell its length on the wire.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ddbg::analyzer {

// Of the Definitions packet that is the `index`-th packet of a chunk: 1 + ceil(bytes / 64) of each definition, in
// order. Empty if that packet is something else or the bytes are malformed.
std::vector<uint64_t> DefinitionCells(std::string_view chunk, int index);

}  // namespace ddbg::analyzer
