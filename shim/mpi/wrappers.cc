// MPI_X and PMPI_X for every row of calls_mpi.def. Both, since Fortran bindings call either (mpi.md 2); the guard makes
// only the outermost count. Compiled without exceptions but not noexcept: the host's exceptions and longjmps pass.
#include "shim/interpose/arities.h"
#include "shim/mpi/wrapper.h"

namespace {
using ddbg::MpiCall;
using ddbg::shim::mpi::Run;
using ddbg::shim::mpi::Word;
}  // namespace

#define DDBG_EXPORT extern "C" [[gnu::visibility("default")]]
#define DDBG_BODY(name, parameters, ...)                                                                   \
  DDBG_EXPORT Word MPI_##name parameters {                                                                 \
    return Run<MpiCall::name, false>("MPI_" #name, __builtin_frame_address(0) __VA_OPT__(, ) __VA_ARGS__); \
  }                                                                                                        \
  DDBG_EXPORT Word PMPI_##name parameters {                                                                \
    return Run<MpiCall::name, true>("PMPI_" #name, __builtin_frame_address(0) __VA_OPT__(, ) __VA_ARGS__); \
  }
#define DDBG_MPI(name, kind, shape, ...) DDBG_DEFINE(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_mpi.def"
