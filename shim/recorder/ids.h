// Numbers that a process gives out once: ids of definitions, and of operations that begin in one call and end in
// another. Shared by all APIs, as the trace is. 0 is none. Any thread; a forked child goes on counting.
#pragma once

#include <atomic>
#include <cstdint>

namespace ddbg::shim {

enum class IdKind { kCommunicator, kDatatype, kStream, kKernel, kCount };

extern std::atomic<uint32_t> g_last_id[static_cast<size_t>(IdKind::kCount)] [[gnu::visibility("hidden")]];
extern std::atomic<uint64_t> g_last_operation [[gnu::visibility("hidden")]];

inline uint32_t NextId(IdKind kind) noexcept {
  return g_last_id[static_cast<size_t>(kind)].fetch_add(1, std::memory_order_relaxed) + 1;
}

inline uint64_t NextOperation() noexcept { return g_last_operation.fetch_add(1, std::memory_order_relaxed) + 1; }

}  // namespace ddbg::shim
