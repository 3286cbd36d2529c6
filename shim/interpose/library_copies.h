// The loaded copies of a library (a process may have two NCCLs) and which of them a caller would have got without us.
//
// RTLD_NEXT is not enough: Python loads torch and with it NCCL into a scope of their own, which RTLD_NEXT does not see,
// and where there are two copies it finds the first, not the caller's (nccl-cuda.md B3). So a call is traced back by
// its return address to the object it came from, and that object's own dependencies are searched.
//
// Any thread. No lock: a thread may come here from a constructor, with the loader's lock held. Two threads that look up
// the same may register it twice, which does no harm. Nothing is ever given back, and a copy once found stays loaded.
#pragma once

#include <atomic>
#include <cstdint>

namespace ddbg::shim {

struct LibraryCopy {
  std::atomic<uintptr_t> base{0};           // of the object that defines the functions; 0: the entry is free
  void* handle = nullptr;                   // to look up more functions in
  std::atomic<void*>* functions = nullptr;  // by index; nullptr: not looked up yet
  const char* path = "";
};

class LibraryCopies {
 public:
  // `names`: of the functions, in the order of their indices. `probe`: one that every version has and nobody wraps.
  constexpr LibraryCopies(const char* const* names, uint32_t count, const char* probe)
      : names_(names), count_(count), probe_(probe) {}

  // The copy that the code at `return_address` would have called; nullptr: none is loaded.
  [[gnu::always_inline]] LibraryCopy* Of(const void* return_address) noexcept {
    uintptr_t address = reinterpret_cast<uintptr_t>(return_address);
    uint32_t taken = ranges_taken_.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < taken && i < kMaxRanges; ++i) {
      // acquire: pairs with the release in AddRange
      uintptr_t bytes = ranges_[i].bytes.load(std::memory_order_acquire);
      if (address - ranges_[i].low < bytes) return ranges_[i].copy;
    }
    return OfSlow(address);
  }

  // The function itself; nullptr: this copy, an older version perhaps, has none.
  [[gnu::always_inline]] void* Function(LibraryCopy& copy, uint32_t index) noexcept {
    void* function = copy.functions[index].load(std::memory_order_relaxed);
    return reinterpret_cast<uintptr_t>(function) > kMissing ? function : FunctionSlow(copy, index);
  }

  // The program has looked up `function` by dlsym: the copy it belongs to. nullptr if look-ups have led to another copy
  // before: who calls by a pointer cannot be told from another, so calls of the second copy must pass by us.
  LibraryCopy* NoteLookUp(void* function) noexcept;

  // The copy that `function` lies in; nullptr: it is no function of a library.
  LibraryCopy* Holding(void* function) noexcept;

  // Some copy that is loaded, wherever; nullptr: none.
  LibraryCopy* Any() noexcept;

 private:
  struct Range {
    uintptr_t low = 0;
    LibraryCopy* copy = nullptr;
    std::atomic<uintptr_t> bytes{0};  // written last; 0: not there yet
  };
  static constexpr uint32_t kMaxCopies = 8, kMaxRanges = 64;
  static constexpr uintptr_t kMissing = 1;  // in place of a function

  LibraryCopy* OfSlow(uintptr_t address) noexcept;
  void* FunctionSlow(LibraryCopy& copy, uint32_t index) noexcept;
  LibraryCopy* Register(void* function) noexcept;
  void AddRange(uintptr_t low, uintptr_t bytes, LibraryCopy* copy) noexcept;

  const char* const* names_;
  uint32_t count_;
  const char* probe_;
  std::atomic<uint32_t> ranges_taken_{0};
  Range ranges_[kMaxRanges];
  std::atomic<uint32_t> copies_taken_{0};
  LibraryCopy copies_[kMaxCopies];
  std::atomic<LibraryCopy*> looked_up_{nullptr};
};

// Does the address lie in libddbg.so?
bool IsOwnCode(const void* address) noexcept;

}  // namespace ddbg::shim
