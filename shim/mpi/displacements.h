// Displacements of MPI_Gatherv and its kin: ints, which pass 2^31 in a big job and turn negative.
#pragma once

#include <cstdint>

namespace ddbg::shim::mpi {

// Index of the first of `count` displacements that has overflowed: negative, and less than 2^31 above the one before if
// both are taken as unsigned. -1: none, as of negative ones that are meant.
inline int32_t FirstOverflow(const int32_t* displacements, uint32_t count) {
  for (uint32_t i = 1; i < count; ++i) {
    if (displacements[i] >= 0) continue;
    uint32_t before = static_cast<uint32_t>(displacements[i - 1]), here = static_cast<uint32_t>(displacements[i]);
    if (displacements[i - 1] > 0 && here - before <= INT32_MAX) return static_cast<int32_t>(i);
  }
  return -1;
}

}  // namespace ddbg::shim::mpi
