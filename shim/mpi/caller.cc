#include "shim/mpi/caller.h"

#include <dlfcn.h>
#include <errno.h>

#include <atomic>
#include <iterator>
#include <string_view>

#include "shim/mpi/library.h"

namespace ddbg::shim::mpi {
namespace {

// The few places that call, so that the loader is asked once each. A place holds the return address and, in its free
// upper bits, who that is.
constexpr int kPlaceBits = 56;
constexpr uintptr_t kPlaceMask = (uintptr_t{1} << kPlaceBits) - 1;
constinit std::atomic<uintptr_t> g_places[1024] = {};

std::atomic<uintptr_t>& PlaceOf(uintptr_t address) {
  return g_places[(address ^ (address >> 10)) % std::size(g_places)];
}

bool IsLibrary(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  for (std::string_view beginning : {"libmpi", "libpmpi", "libompi", "libmca_", "mca_", "libopen-"})
    if (name.starts_with(beginning)) return true;
  return false;
}

// Does one of the functions that our MPI_X go on to lie in the object at `base`?
bool IsBehindUs(const void* base) {
  for (const std::atomic<void*>& real : g_real[0]) {
    Dl_info info = {};
    void* function = real.load(std::memory_order_relaxed);
    if (function && dladdr(function, &info) && info.dli_fbase == base) return true;
  }
  return false;
}

Caller LookAt(const void* return_address) {
  Dl_info info = {};
  if (!dladdr(return_address, &info) || !info.dli_fname) return Caller::kProgram;
  if (IsLibrary(info.dli_fname)) return Caller::kLibrary;
  return IsBehindUs(info.dli_fbase) ? Caller::kTool : Caller::kProgram;
}

}  // namespace

Caller WhoCalls(const void* return_address) noexcept {
  uintptr_t address = reinterpret_cast<uintptr_t>(return_address) & kPlaceMask;
  std::atomic<uintptr_t>& place = PlaceOf(address);
  uintptr_t known = place.load(std::memory_order_relaxed);
  if ((known & kPlaceMask) == address) return static_cast<Caller>(known >> kPlaceBits);
  int saved_errno = errno;
  Caller caller = LookAt(return_address);
  errno = saved_errno;
  place.store(address | static_cast<uintptr_t>(caller) << kPlaceBits, std::memory_order_relaxed);
  return caller;
}

void ForgetCallers() noexcept {
  for (auto& place : g_places) place.store(0, std::memory_order_relaxed);
}

}  // namespace ddbg::shim::mpi
