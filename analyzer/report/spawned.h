// What is said of worlds that MPI_Comm_spawn has made.
#pragma once

#include <string>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

// "ranks 2, 3 are an MPI_COMM_WORLD of their own, spawned by rank 0 in MPI_Comm_spawn at main (pool.c:51)". `line`: of
// that call, "" if it is not known.
std::string SpawnedText(const Run& run, const SpawnedWorld& world, const std::string& line);

}  // namespace ddbg::analyzer
