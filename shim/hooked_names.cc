// The names the dlsym hook answers for, from the call tables; sorted when this is compiled.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "proto/call.h"
#include "shim/cuda/driver.h"
#include "shim/cuda/runtime.h"
#include "shim/interpose/dlsym_hook.h"
#include "shim/nccl/library.h"
#include "shim/nccl/plugin/offer.h"

#define DDBG_NCCL_EVENT(...)
#define DDBG_NCCL(name, ...) \
  extern "C" void name();    \
  extern "C" void p##name();
#include "proto/calls_nccl.def"
#undef DDBG_NCCL

#define DDBG_MPI(name, ...)     \
  extern "C" void MPI_##name(); \
  extern "C" void PMPI_##name();
#include "proto/calls_mpi.def"
#undef DDBG_MPI
extern "C" void MPI_Pcontrol();
extern "C" void PMPI_Pcontrol();
extern "C" void MPI_Group_free();
extern "C" void PMPI_Group_free();

// A function of CUDA, and its variant for a default stream per thread if there is one.
#define DDBG_EACH_Plain(name, act) act(name)
#define DDBG_EACH__ptsz(name, act) act(name) act(name##_ptsz)
#define DDBG_EACH__ptds(name, act) act(name) act(name##_ptds)

#define DDBG_DECLARE(name) extern "C" void name();
#define DDBG_CUDA(name, suffix, ...) DDBG_EACH_##suffix(name, DDBG_DECLARE)
#define DDBG_CU(name, suffix, ...) DDBG_EACH_##suffix(name, DDBG_DECLARE)
#include "proto/calls_cuda.def"
#include "proto/calls_cuda_driver.def"
#undef DDBG_CUDA
#undef DDBG_CU
DDBG_DECLARE(cuGetProcAddress)
DDBG_DECLARE(cuGetProcAddress_v2)

namespace ddbg::shim {
namespace {

struct Name {
  std::string_view name;
  void (*wrapper)();
  LibraryCopies* copies;
};

constexpr auto MakeNames() {
  std::array names = {
#define DDBG_NCCL_EVENT(...)
#define DDBG_NCCL(name, ...) Name{#name, name, &nccl::g_copies}, Name{"p" #name, p##name, &nccl::g_copies},
#include "proto/calls_nccl.def"
#undef DDBG_NCCL
#define DDBG_MPI_ROW(name) Name{"MPI_" #name, MPI_##name, nullptr}, Name{"PMPI_" #name, PMPI_##name, nullptr},
#define DDBG_MPI(name, ...) DDBG_MPI_ROW(name)
#include "proto/calls_mpi.def"
#undef DDBG_MPI
      DDBG_MPI_ROW(Pcontrol) DDBG_MPI_ROW(Group_free)
#define DDBG_ROW(name) Name{#name, name, &cuda::g_copies},
#define DDBG_CUDA(name, suffix, ...) DDBG_EACH_##suffix(name, DDBG_ROW)
#include "proto/calls_cuda.def"
#undef DDBG_CUDA
#define DDBG_DRIVER_ROW(name) Name{#name, name, &cuda::g_driver_copies},
#define DDBG_CU(name, suffix, ...) DDBG_EACH_##suffix(name, DDBG_DRIVER_ROW)
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
          DDBG_DRIVER_ROW(cuGetProcAddress) DDBG_DRIVER_ROW(cuGetProcAddress_v2)};
  std::sort(names.begin(), names.end(), [](const Name& a, const Name& b) { return a.name < b.name; });
  return names;
}

constexpr auto kNames = MakeNames();

// Every look-up of every program comes here: most are told by their first letters.
bool MayBeOurs(const char* name) {
  const char* mpi = name[0] == 'P' ? name + 1 : name;
  if (mpi[0] == 'M') return mpi[1] == 'P' && mpi[2] == 'I' && mpi[3] == '_';
  if (name[0] == 'p') ++name;
  return (name[0] == 'n' && name[1] == 'c' && name[2] == 'c') || (name[0] == 'c' && name[1] == 'u') ||
         (name[0] == '_' && name[1] == '_' && name[2] == 'c');
}

}  // namespace

HookedFunction FindHooked(const char* name) noexcept {
  if (!MayBeOurs(name)) return {};
  if (auto* answer = nccl::plugin::AnswerFor(name)) return {.answer = answer};
  std::string_view wanted = name;
  auto found = std::lower_bound(kNames.begin(), kNames.end(), wanted,
                                [](const Name& row, std::string_view text) { return row.name < text; });
  if (found == kNames.end() || found->name != wanted) return {};
  if (found->copies == &cuda::g_driver_copies && !cuda::IsDriverLevelOn()) return {};
  return {reinterpret_cast<void*>(found->wrapper), found->copies};
}

}  // namespace ddbg::shim
