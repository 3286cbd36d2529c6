// MPI_Group_free(&group): no record, since it is local. But a group that MPI_Win_post or MPI_Win_start named is known
// by its handle (GroupId in communicators.h), which may be another group's as soon as this one has gone.
#pragma once

namespace ddbg::shim::mpi {

// The library with the real functions is unloaded perhaps.
void ForgetGroupFree() noexcept;

}  // namespace ddbg::shim::mpi
