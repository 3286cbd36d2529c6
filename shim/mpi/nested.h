// Calls within a call: MPI's own, which are none of the program's, and those of the program's functions that MPI calls
// (reduction operators, attribute functions, error handlers), which are. They are told by who calls.
#pragma once

#include "shim/mpi/library.h"

namespace ddbg::shim::mpi {

// The call that a thread is in, put aside while it is in one within it.
struct OuterCall {
  uintptr_t guard = 0;  // 0: there is none
  Record half[2];
  uint32_t request_count;
  uint64_t requests[kMaxOpenRequests];
  void* scratch;  // what the outer call has there stays
  uint64_t scratch_bytes;
};

// nullptr: the call is the library's own or a tool's, and passes through. Else in_flight is free for it.
ThreadState* EnterNested(void** frame, OuterCall* outer) noexcept;
void LeaveNested(ThreadState& t, const OuterCall& outer) noexcept;

}  // namespace ddbg::shim::mpi
