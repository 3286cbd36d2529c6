// A concurrent map from handles of a library to small values, for the hot path: no lock, no allocation, one cache line
// a look-up.
//
// Buckets of seven keys and an overflow count fill a line; a key that finds its bucket full goes to the next, up to
// kReach. Insertion claims an empty key with kBusy, by an acquire that pairs with the release of who removed the key
// there before and may just have used its value; it writes the value, then publishes the key with release, with which a
// look-up's acquire pairs. Removing a key while another thread looks it up is the program's race, not ours: the value
// memory stays valid. Keys 0 and kBusy are no handles.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

namespace ddbg::shim {

template <class Value, uint32_t kBuckets>
class HandleTable {
 public:
  static constexpr uint32_t kKeys = 7;
  static constexpr uint32_t kReach = 8;
  static_assert((kBuckets & (kBuckets - 1)) == 0);

  // Memory is taken once and comes zeroed, which is the empty state. False if there is none. `wiped_in_child`: after a
  // fork the child's is empty.
  bool Allocate(bool wiped_in_child = false) {
    buckets_ = static_cast<Bucket*>(Map(sizeof(Bucket) * kBuckets));
    values_ = static_cast<Value*>(Map(sizeof(Value) * kBuckets * kKeys));
    if (!buckets_ || !values_) return false;
    return !wiped_in_child || madvise(buckets_, sizeof(Bucket) * kBuckets, MADV_WIPEONFORK) == 0;
  }

  // All keys and values are gone; of use by one thread alone.
  void Clear() {
    madvise(buckets_, sizeof(Bucket) * kBuckets, MADV_DONTNEED);
    madvise(values_, sizeof(Value) * kBuckets * kKeys, MADV_DONTNEED);
  }

  Value* Find(uint64_t key) const {
    for (uint32_t step = 0, b = First(key); step < kReach; ++step, b = Next(b)) {
      const Bucket& bucket = buckets_[b];
      for (uint32_t i = 0; i < kKeys; ++i)
        if (bucket.key[i].load(std::memory_order_acquire) == key) return &values_[b * kKeys + i];
      if (bucket.overflowed.load(std::memory_order_relaxed) == 0) return nullptr;
    }
    return nullptr;
  }

  // nullptr if there is no room. The caller has looked before: a key is inserted by one thread at a time.
  Value* Insert(uint64_t key, const Value& value) {
    for (uint32_t step = 0, b = First(key); step < kReach; ++step, b = Next(b)) {
      Bucket& bucket = buckets_[b];
      for (uint32_t i = 0; i < kKeys; ++i) {
        uint64_t empty = 0;
        if (bucket.key[i].load(std::memory_order_relaxed) != 0) continue;
        if (!bucket.key[i].compare_exchange_strong(empty, kBusy, std::memory_order_acquire)) continue;
        values_[b * kKeys + i] = value;
        bucket.key[i].store(key, std::memory_order_release);
        return &values_[b * kKeys + i];
      }
      bucket.overflowed.store(1, std::memory_order_relaxed);
    }
    return nullptr;
  }

  void Remove(uint64_t key) {
    for (uint32_t step = 0, b = First(key); step < kReach; ++step, b = Next(b)) {
      Bucket& bucket = buckets_[b];
      for (uint32_t i = 0; i < kKeys; ++i) {
        if (bucket.key[i].load(std::memory_order_relaxed) != key) continue;
        bucket.key[i].store(0, std::memory_order_release);
        return;
      }
      if (bucket.overflowed.load(std::memory_order_relaxed) == 0) return;
    }
  }

 private:
  struct alignas(64) Bucket {
    std::atomic<uint64_t> key[kKeys];
    std::atomic<uint64_t> overflowed;  // some key went on to the next bucket, ever
  };
  static constexpr uint64_t kBusy = ~uint64_t{0};

  static void* Map(size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
  }
  static uint32_t First(uint64_t key) {
    return static_cast<uint32_t>((key * 0x9e3779b97f4a7c15ull) >> 40) & (kBuckets - 1);
  }
  static uint32_t Next(uint32_t b) { return (b + 1) & (kBuckets - 1); }

  Bucket* buckets_ = nullptr;
  Value* values_ = nullptr;
};

}  // namespace ddbg::shim
