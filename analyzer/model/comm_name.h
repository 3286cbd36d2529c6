// Names of communicators for people, equal on all ranks where the communicator is. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

// As the program named it ("MPI_COMM_WORLD", "rows"), else by how it came to be: "split#2 of MPI_COMM_WORLD" is what
// the third creation on MPI_COMM_WORLD, counted from 0, made. "" for id 0.
std::string CommName(const Process& process, uint32_t comm);

// The uid as events print it: 16 hex digits.
std::string CommUidText(uint64_t uid);

// True if `text` is the communicator's name, its uid in hex (with or without 0x), or "world" or "self".
bool CommMatches(const Process& process, uint32_t comm, std::string_view text);

}  // namespace ddbg::analyzer
