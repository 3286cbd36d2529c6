#include "shim/mpi/group_free.h"

#include <atomic>

#include "shim/interpose/real_function.h"
#include "shim/mpi/communicators.h"

namespace ddbg::shim::mpi {
namespace {

constinit std::atomic<void*> g_real_free[2] = {};  // MPI_Group_free, PMPI_Group_free

Word Free(bool profiling, Word group) {
  void* function = g_real_free[profiling].load(std::memory_order_relaxed);
  if (!function) [[unlikely]] {
    function = RequireRealFunction(profiling ? "PMPI_Group_free" : "MPI_Group_free");
    g_real_free[profiling].store(function, std::memory_order_relaxed);
  }
  if (g_tables && group) ForgetGroup(g_abi.ReadHandle(reinterpret_cast<const void*>(group)));
  return reinterpret_cast<Word (*)(Word)>(function)(group);
}

}  // namespace

void ForgetGroupFree() noexcept {
  for (auto& function : g_real_free) function.store(nullptr, std::memory_order_relaxed);
}

}  // namespace ddbg::shim::mpi

extern "C" [[gnu::visibility("default")]] ddbg::shim::mpi::Word MPI_Group_free(ddbg::shim::mpi::Word group) {
  return ddbg::shim::mpi::Free(false, group);
}
extern "C" [[gnu::visibility("default")]] ddbg::shim::mpi::Word PMPI_Group_free(ddbg::shim::mpi::Word group) {
  return ddbg::shim::mpi::Free(true, group);
}
