// MPI_Pcontrol(level, …): a mark, if the program has a label in it as IPM's users do.
#pragma once

namespace ddbg::shim::mpi {

// The library with the real functions is unloaded perhaps.
void ForgetPcontrol() noexcept;

}  // namespace ddbg::shim::mpi
