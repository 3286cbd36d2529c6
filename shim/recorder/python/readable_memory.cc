#include "shim/recorder/python/readable_memory.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ddbg::shim {
namespace {

constexpr uintptr_t kPageBytes = 4096;              // or a part of a page, where pages are larger
constexpr uintptr_t kUserEnd = uintptr_t{1} << 56;  // of no known machine is it more; the kernel knows its own

// The kernel copies the set in before it finds that there is no such operation: EFAULT if it cannot, else EINVAL.
bool IsReadable(uintptr_t page) {
  constexpr int kNoSuchOperation = -1;
  constexpr size_t kKernelSetBytes = 8;
  long done = syscall(SYS_rt_sigprocmask, kNoSuchOperation, page, nullptr, kKernelSetBytes);
  return done == -1 && errno == EINVAL;
}

}  // namespace

bool ReadableMemory::Has(uintptr_t address, size_t bytes) noexcept {
  if (address < kPageBytes || address >= kUserEnd || bytes > kUserEnd - address) return false;
  for (uintptr_t page = address / kPageBytes; page <= (address + bytes - 1) / kPageBytes; ++page) {
    uintptr_t& known = pages_[page % kPages];
    if (known == page) continue;
    if (!IsReadable(page * kPageBytes)) return false;
    known = page;
  }
  return true;
}

}  // namespace ddbg::shim
