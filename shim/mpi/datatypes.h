// Datatypes: predefined ones are known from the start, derived ones from their commit on. A handle is never looked into
// at communication time: it may be one of the program's errors.
#pragma once

#include "shim/mpi/library.h"

namespace ddbg::shim::mpi {

void AddPredefinedTypes(ThreadState& t) noexcept;
// After MPI_Type_commit succeeded: size, and the one predefined type it is made of if there is one.
void AddDerivedType(ThreadState& t, Word handle) noexcept;
void RemoveType(Word handle) noexcept;

// 0, or the id of a predefined type of the standard ABI that was not asked for before: which of them a library has
// shows when the program uses them.
uint32_t UnseenTypeId(Word handle) noexcept;

[[gnu::always_inline]] inline uint32_t TypeId(Word handle) {
  Datatype* type = g_tables->dtypes.Find(static_cast<uint64_t>(handle));
  return type ? type->id : UnseenTypeId(handle);
}

}  // namespace ddbg::shim::mpi
