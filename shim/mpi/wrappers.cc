// MPI_X and PMPI_X for every row of calls_mpi.def. Both, since Fortran bindings call either (mpi.md 2); the guard makes
// only the outermost count. Compiled without exceptions but not noexcept: the host's exceptions and longjmps pass.
#include "shim/mpi/wrapper.h"

namespace {
using ddbg::MpiCall;
using ddbg::shim::mpi::Run;
using ddbg::shim::mpi::Word;
}  // namespace

#define DDBG_EXPORT extern "C" [[gnu::visibility("default")]]
#define DDBG_BOTH(name, parameters, ...)                                                                   \
  DDBG_EXPORT Word MPI_##name parameters {                                                                 \
    return Run<MpiCall::name, false>("MPI_" #name, __builtin_frame_address(0) __VA_OPT__(, ) __VA_ARGS__); \
  }                                                                                                        \
  DDBG_EXPORT Word PMPI_##name parameters {                                                                \
    return Run<MpiCall::name, true>("PMPI_" #name, __builtin_frame_address(0) __VA_OPT__(, ) __VA_ARGS__); \
  }

#define DDBG_0(name) DDBG_BOTH(name, ())
#define DDBG_1(name) DDBG_BOTH(name, (Word a), a)
#define DDBG_2(name) DDBG_BOTH(name, (Word a, Word b), a, b)
#define DDBG_3(name) DDBG_BOTH(name, (Word a, Word b, Word c), a, b, c)
#define DDBG_4(name) DDBG_BOTH(name, (Word a, Word b, Word c, Word d), a, b, c, d)
#define DDBG_5(name) DDBG_BOTH(name, (Word a, Word b, Word c, Word d, Word e), a, b, c, d, e)
#define DDBG_6(name) DDBG_BOTH(name, (Word a, Word b, Word c, Word d, Word e, Word f), a, b, c, d, e, f)
#define DDBG_7(name) DDBG_BOTH(name, (Word a, Word b, Word c, Word d, Word e, Word f, Word g), a, b, c, d, e, f, g)
#define DDBG_8(name) \
  DDBG_BOTH(name, (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h), a, b, c, d, e, f, g, h)
#define DDBG_9(name) \
  DDBG_BOTH(name, (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i), a, b, c, d, e, f, g, h, i)
#define DDBG_10(name)                                                                                                 \
  DDBG_BOTH(name, (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j), a, b, c, d, e, f, \
            g, h, i, j)
#define DDBG_12(name)                                                                                                  \
  DDBG_BOTH(name, (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k, Word l), a, \
            b, c, d, e, f, g, h, i, j, k, l)

#define DDBG_PICK(_0, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, n, ...) n
#define DDBG_COUNT(...) DDBG_PICK(0 __VA_OPT__(, ) __VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define DDBG_JOIN2(a, b) a##b
#define DDBG_JOIN(a, b) DDBG_JOIN2(a, b)
#define DDBG_MPI(name, kind, shape, ...) DDBG_JOIN(DDBG_, DDBG_COUNT(__VA_ARGS__))(name)
#include "proto/calls_mpi.def"
