// Calls that a function of the program makes while MPI has called it back: copying and deleting attributes, operators,
// error handlers. They are calls of the program's like any other. What MPI, its bindings and tools call by themselves
// is not.
//
// While such a call is made it takes the place of the outer one in the in-flight slot: it is where the thread is. A
// callback that is called from within one passes unrecorded.
#pragma once

#include "shim/recorder/recorder.h"

namespace ddbg::shim::mpi {

// For a wrapper at `frame` that Enter has refused. nullptr: pass through. `many`: the call looks at an array of
// requests, for which a thread has room once.
ThreadState* EnterFromCallback(void* frame, bool many) noexcept;

// Gives the outer call its place back.
void LeaveCallback(ThreadState& t) noexcept;

}  // namespace ddbg::shim::mpi
