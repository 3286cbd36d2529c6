// DDBG_CHECK_BUFFERS=1: is what a non-blocking send was given still the same when it is completed, or when MPI_Finalize
// is called without that? A checksum of some of it at both times. Costs a copy of up to 4 KiB a send and a system call
// a completion, so that it is off unless asked for.
#pragma once

#include <atomic>

#include "shim/mpi/library.h"

namespace ddbg::shim::mpi {

extern std::atomic<bool> g_checks_buffers [[gnu::visibility("hidden")]];

// Reads the switch; no memory, no checks. Once an attachment.
void PrepareBufferChecks() noexcept;

// After a send was posted under this number. Of predefined datatypes only, whose elements lie side by side.
void WatchBuffer(uint64_t operation, const void* buffer, uint64_t count, Word datatype) noexcept;

// It is over: says so in the trace if the buffer is not what it was. 0, and numbers that nobody watches: nothing.
void CheckBuffer(ThreadState& t, uint64_t operation) noexcept;

// It is freed: nobody will say when it is over.
void ForgetBuffer(uint64_t operation) noexcept;

// Of all that were never completed.
void CheckAllBuffers(ThreadState& t) noexcept;

}  // namespace ddbg::shim::mpi
