#include "shim/mpi/nested.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>

#include <string_view>
#include <utility>

#include "proto/call.h"

namespace ddbg::shim::mpi {
namespace {

uintptr_t ObjectOf(const void* address, std::string_view* path = nullptr) {
  Dl_info info = {};
  if (!address || !dladdr(address, &info)) return 0;
  if (path && info.dli_fname) *path = info.dli_fname;
  return reinterpret_cast<uintptr_t>(info.dli_fbase);
}

// By the names of what the families consist of: bindings, Open MPI's components, and what they hand work to.
bool IsLibraryOfMpi(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  for (std::string_view start : {"libmpi", "libpmpi", "mca_", "libmca_", "libopen-", "libhcoll", "libucc", "libromio"})
    if (name.starts_with(start)) return true;
  return false;
}

// The function that the outer call went on to is MPI's or a tool's: what they call inside it is no call of the program.
bool IsBehindOuter(const Record& outer, uintptr_t object) {
  size_t index = static_cast<size_t>(outer.call) - kFirstCall;
  if (index >= static_cast<size_t>(MpiCall::kCount)) return true;
  for (const auto& functions : g_real)
    if (ObjectOf(functions[index].load(std::memory_order_relaxed)) == object) return true;
  return false;
}

// Places that call from within, so that the loader is asked once each: the return address and, in its free upper bits,
// the answer.
constexpr int kPlaceBits = 56;
constinit std::atomic<uintptr_t> g_places[256] = {};

bool IsFromProgram(const Record& outer, const void* return_address) {
  constexpr uintptr_t kMask = (uintptr_t{1} << kPlaceBits) - 1;
  uintptr_t address = reinterpret_cast<uintptr_t>(return_address) & kMask;
  std::atomic<uintptr_t>& place = g_places[(address ^ (address >> 8)) % std::size(g_places)];
  uintptr_t known = place.load(std::memory_order_relaxed);
  if ((known & kMask) == address) return known >> kPlaceBits;
  int saved_errno = errno;
  std::string_view path;
  uintptr_t object = ObjectOf(return_address, &path);
  bool program = object != 0 && !IsLibraryOfMpi(path) && !IsBehindOuter(outer, object);
  errno = saved_errno;
  place.store(address | static_cast<uintptr_t>(program) << kPlaceBits, std::memory_order_relaxed);
  return program;
}

}  // namespace

ThreadState* EnterNested(void** frame, OuterCall* outer) noexcept {
  ThreadState* t = Inside(frame);
  if (!t || !IsAttached(*t)) return nullptr;
  InFlight& f = t->slot->in_flight;
  if (!IsFromProgram(f.half[0], frame[1])) return nullptr;
  outer->guard = t->guard;
  outer->half[0] = f.half[0];
  outer->half[1] = f.half[1];
  outer->request_count = f.request_count;
  for (uint32_t i = 0; i < kMaxOpenRequests; ++i) outer->requests[i] = f.requests[i];
  outer->scratch = std::exchange(t->memory->scratch, nullptr);
  outer->scratch_bytes = std::exchange(t->memory->scratch_bytes, 0);
  EndInFlight(*t);
  t->guard = reinterpret_cast<uintptr_t>(frame);
  return t;
}

void LeaveNested(ThreadState& t, const OuterCall& outer) noexcept {
  InFlight& f = t.slot->in_flight;
  f.half[0] = outer.half[0];
  f.half[1] = outer.half[1];
  f.request_count = outer.request_count;
  for (uint32_t i = 0; i < kMaxOpenRequests; ++i) f.requests[i] = outer.requests[i];
  if (t.memory->scratch) munmap(t.memory->scratch, t.memory->scratch_bytes);
  t.memory->scratch = outer.scratch;
  t.memory->scratch_bytes = outer.scratch_bytes;
  t.guard = outer.guard;
  // Open again, since when it began. The release pairs with the acquire in the collector's seqlock read.
  f.sequence.store(f.sequence.load(std::memory_order_relaxed) | 1, std::memory_order_release);
}

void ForgetCallers() noexcept {
  for (auto& place : g_places) place.store(0, std::memory_order_relaxed);
}

}  // namespace ddbg::shim::mpi
