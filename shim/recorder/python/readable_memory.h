// Memory of this process that was seen to be readable before it is read. One thread.
//
// A page is asked about once: what the caller follows are the objects of a running frame, which stay where they are
// while it runs. What this keeps out are the pointers of a Python that is laid out otherwise than we believe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ddbg::shim {

// All zero is its empty state.
class ReadableMemory {
 public:
  // False: not all of it is readable.
  bool Has(uintptr_t address, size_t bytes) noexcept;

  template <typename T>
  bool Read(uintptr_t address, T* value) noexcept {
    if (!Has(address, sizeof(T))) return false;
    memcpy(value, reinterpret_cast<const void*>(address), sizeof(T));
    return true;
  }

 private:
  static constexpr size_t kPages = 256;  // remembered; more only cost a system call each
  uintptr_t pages_[kPages];
};

}  // namespace ddbg::shim
