// How much data a rank gives to or takes from a collective, in a form that can be compared between ranks: count × type
// signature, never handles. A derived type of three doubles, twice, is six doubles.
#pragma once

#include <string>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct Amount {
  bool known = false;
  std::string count;      // "1142"
  std::string type;       // "MPI_INT"
  std::string base;       // predefined type class; "" if mixed
  uint64_t elements = 0;  // of the base
  uint64_t bytes = 0;
  uint64_t signature = 0;  // of a mixed type

  // False only if the two are certain to differ. Types of one class and size match (MPI_LONG and MPI_INT64_T, C and
  // Fortran doubles); MPI_BYTE and MPI_PACKED match anything of as many bytes.
  bool Matches(const Amount& other) const;
};

// Of `dtype`, so many.
Amount AmountOf(const Process& process, uint64_t count, uint32_t dtype);
// The side of a call that the standard requires to agree; unknown where it is not significant (a receive side on a
// non-root, in place, sizes that vary by design).
Amount AmountOf(const Process& process, const Call& call, bool is_root);

}  // namespace ddbg::analyzer
