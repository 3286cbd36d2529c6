#include "analyzer/kinds.h"

namespace ddbg::analyzer {
namespace {

constexpr std::string_view kControlFlow = "control_flow_divergence";
constexpr std::string_view kTiming = "timing_divergence";
constexpr std::string_view kState = "state_corruption";
constexpr std::string_view kInfrastructure = "infrastructure_discontinuity";

constexpr KindInfo kKinds[] = {
    {"collective_mismatch",
     kControlFlow,
     {"Compare the branch conditions that lead to the two call sites: a rank test, a data-dependent loop, an early "
      "return.",
      "ddbg events RUN --rank R --last 60 shows the calls before it on each side."}},
    {"argument_mismatch",
     kControlFlow,
     {"Find where the differing argument is computed on the culprit: an uneven split, a stale size, another input "
      "file.",
      "Compare the same variable on a rank that agrees with the others."}},
    {"callsite_mismatch",
     kControlFlow,
     {"Look for a collective inside a branch that not every rank takes (if rank == 0: save(); with a barrier in save).",
      "Move the collective out of the branch, or let every rank take it."}},
    {"missing_collective",
     kControlFlow,
     {"Look at the condition under which the missing rank left the path of its peers.",
      "ddbg events RUN --rank R --last 60 shows what it did instead."}},
    {"early_exit",
     kControlFlow,
     {"Read the missing rank's own output: an error or a smaller amount of work ended it early.",
      "Let one rank's error reach all (MPI_Abort, an agreed flag) instead of ending alone."}},
    {"uncaught_exception",
     kControlFlow,
     {"Fix the exception; its traceback is in that rank's output.",
      "Run Python programs with -m mpi4py so that an exception aborts all ranks."}},
    {"order_inversion",
     kControlFlow,
     {"Give all ranks one order of calls over the two communicators.",
      "Or use non-blocking collectives and wait for both."}},
    {"wait_cycle", kControlFlow, {"Give all ranks one order of the operations in the cycle."}},
    {"p2p_deadlock",
     kControlFlow,
     {"Post receives before sends (MPI_Irecv, or MPI_Sendrecv), so that large messages need no buffering.",
      "It works below the eager limit only: a small test will not show it."}},
    {"p2p_unmatched",
     kControlFlow,
     {"Compare tag, peer and communicator of the two ends.", "Check that every send has one receive on every path."}},
    {"comm_leak",
     kState,
     {"Free the communicator where it is no longer used (MPI_Comm_free), or create it once and keep it.",
      "MPICH has room for about 2,000 communicators in a process, Open MPI for about 65,000."}},
    {"request_leak", kState, {"Complete every request with a wait or test, or free it."}},
    {"process_killed",
     kInfrastructure,
     {"Look for who sent the signal: the kernel log (out of memory), the batch system, an operator.",
      "For SIGSEGV, SIGBUS, SIGFPE and SIGABRT open the core dump or rerun that rank under a debugger."}},
    {"singleton_world",
     kInfrastructure,
     {"Start the job with the launcher of the MPI that the program is linked to (ldd PROGRAM | grep mpi).",
      "Check PATH and modules: mpirun and the library must come from one installation."}},
    {"missing_rank",
     kInfrastructure,
     {"See whether the missing rank's process was started and what it does before MPI_Init.",
      "Check the launcher's output and host of that rank."}},
    {"duplicate_rank", kInfrastructure, {"Check how ranks are assigned: a local rank may be used as the global one."}},
    {"init_error", kInfrastructure, {"Read that rank's own error message; compare its environment with the others'."}},
    {"library_stall",
     kInfrastructure,
     {"Every rank made the same call: suspect the MPI library, the device or the network, not the program's logic.",
      "Look for link errors, and take native stacks of all ranks (gdb -p PID)."}},
    {"stall",
     kTiming,
     {"See what the late rank does in its own code (py-spy, gdb -p PID): loading, computing, a lock.",
      "If it is work that must take long, raise the timeout or do it before the others wait."}},
    {"async_error",
     kInfrastructure,
     {"Look for link and device errors of that time on the node and its peers (dmesg, nvidia-smi, ibstat).",
      "NCCL_DEBUG=WARN makes NCCL say which peer or device it was."}},
    {"call_error",
     kInfrastructure,
     {"Read what NCCL_DEBUG=WARN says at that call; an error of CUDA may come from an earlier kernel.",
      "Let one rank's error reach all instead of going on without the call."}},
    {"duplicate_device",
     kInfrastructure,
     {"Call cudaSetDevice with the local rank before the communicator is made (torch.cuda.set_device(local_rank)).",
      "Check CUDA_VISIBLE_DEVICES of the ranks on that node."}},
    {"group_creation_mismatch",
     kInfrastructure,
     {"Make the ncclUniqueId on one rank and give the same bytes to all (store, broadcast), each time anew.",
      "Check MASTER_ADDR, MASTER_PORT or the store of the ranks that are apart."}},
    {"world_size_mismatch",
     kInfrastructure,
     {"Compare where each rank takes the number of ranks from: WORLD_SIZE, a configuration, the launcher."}},
    {"version_mismatch",
     kInfrastructure,
     {"Use one build of the library on all nodes (container image, module, wheel).",
      "LD_LIBRARY_PATH and LD_PRELOAD of the odd rank say which copy it found."}},
    {"env_mismatch",
     kInfrastructure,
     {"Give all ranks the same value, or none; check what the launcher hands on to other nodes."}},
    {"per_thread_stream", kState, {"Use a stream of the program's own, or a blocking communicator (nccl#1976)."}},
    {"not_traced", kInfrastructure, {"Preload libddbg.so into every rank (mpirun -x LD_PRELOAD, ddbg run)."}},
};

constexpr KindInfo kUnlisted = {"", kInfrastructure, {}};

}  // namespace

const KindInfo& InfoOf(std::string_view kind) {
  for (const KindInfo& info : kKinds)
    if (info.kind == kind) return info;
  return kUnlisted;
}

std::string_view ClassOf(const Finding& finding) {
  return finding.failure_class.empty() ? InfoOf(finding.kind).failure_class : std::string_view(finding.failure_class);
}

}  // namespace ddbg::analyzer
