// MPI jobs that never became one job: what the rules about them have in common (start_up.cc, world_sizes.cc).
#pragma once

#include <optional>
#include <string>

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

inline constexpr double kInitSeconds = 5.0;  // who is in MPI_Init for longer than that waits for somebody

// A finding that the job does not start, which shows at `call` of a process; kNoIndex: at the process's start.
Finding BeginStartUp(const Context& context, const char* kind, size_t process, size_t call, const char* field,
                     std::string expected, std::string actual);

// For how long it has been in MPI_Init when the recording ends; 0 if it is not.
double SecondsInInit(const Context& context, size_t process);

// Were two processes there at one time?
bool Overlap(const Context& context, size_t a, size_t b);

// Evidence: where the process has its rank from.
void AddRankSources(const Context& context, size_t process, Finding* finding);

// A world of its own, where the launcher started several. What finds each other by other means than MPI, as PyTorch
// does by RANK and MASTER_ADDR whoever set them, may load a module that makes MPI's init.
bool IsLonely(const Process& process);

// Worlds of another size than the launcher, or than others, say (world_sizes.cc). Each rule gives at most one finding.
std::optional<Finding> FindSingletons(const Context& context);
std::optional<Finding> FindDifferingSizes(const Context& context);
// A job of TensorFlow's that TF_CONFIG describes and that does not come together (tf_cluster.cc).
std::optional<Finding> FindClusterTrouble(Context& context);
// A job of PyTorch's whose ranks join a process group that is never made (process_group.cc).
std::optional<Finding> FindProcessGroupTrouble(const Context& context);
// Of two processes that were launched apart and claim the same rank.
Finding SeveralWorlds(const Context& context, size_t first, size_t second);

}  // namespace ddbg::analyzer
