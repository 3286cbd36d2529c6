// Requests: which operation a handle stands for, from its post to its completion. Handles are not unique: small sends
// may all get one shared handle that is complete from the start (mpi.md 0.7).
#pragma once

#include "shim/mpi/library.h"

namespace ddbg::shim::mpi {

// Most of what a Wait* or Test* has to look at fits here; more goes to the thread's scratch memory.
struct Completions {
  Pending* pending = nullptr;  // by index of the request array; operation 0: null, unknown or inactive
  Word* handles = nullptr;     // as they were before the call
  char* statuses = nullptr;    // our own, if the caller ignores them and one is needed; else the caller's
  int count = 0;
  bool any_known = false;
};

// After the call that gave `handle` succeeded: gives the record (half 0) its operation number.
void PostRequest(ThreadState& t, Word handle, Pending pending) noexcept;
// The same for a persistent request's template.
void AddPersistent(Word handle, Pending pending) noexcept;
// MPI_Start: a new operation on a template. Copy of what was started; call 0 if unknown.
Pending StartPersistent(Word handle) noexcept;

// What `handle` stands for; operation 0 if nothing pending is known. Does not remove it.
Pending LookUp(Word handle) noexcept;
// The operation is over: forgets it, or makes a persistent one inactive again.
void Forget(Word handle, const Pending& pending) noexcept;
void MarkCancelled(Word handle) noexcept;

// Before Waitall and its kin: looks up all, and puts what is pending into the in-flight slot. `status_bytes` > 0 asks
// for room for own statuses. False: no memory; the call is recorded without its completions.
bool LookUpAll(ThreadState& t, const void* requests, int count, uint32_t status_bytes, Completions* out) noexcept;

// A completion record for one of several. `status` nullptr: not readable.
void PushCompletion(ThreadState& t, const Record& by, const Pending& pending, const void* status) noexcept;

// Peer and tag of a finished receive into `record`.
void ResolveFromStatus(Record& record, const Pending& pending, const void* status) noexcept;

}  // namespace ddbg::shim::mpi
