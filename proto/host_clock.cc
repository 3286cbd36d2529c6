#include "proto/host_clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "proto/clock_ticks.h"

namespace ddbg {
namespace {

constexpr int64_t kUnknown = INT64_MIN;
constinit std::atomic<int64_t> g_offset_ns{kUnknown};

// timens_offsets tells the offsets of the namespace that a process's children will have.
bool IsOfThisProcess() {
  struct stat own, of_children;
  return stat("/proc/self/ns/time", &own) == 0 && stat("/proc/self/ns/time_for_children", &of_children) == 0 &&
         own.st_ino == of_children.st_ino;
}

}  // namespace

int64_t ParseMonotonicOffset(std::string_view text) noexcept {
  char copy[256] = "";
  if (text.size() >= sizeof(copy)) return 0;
  memcpy(copy, text.data(), text.size());
  char* rest = nullptr;
  for (char* line = strtok_r(copy, "\n", &rest); line; line = strtok_r(nullptr, "\n", &rest)) {
    size_t name = strcspn(line, " \t");
    // Before Linux 5.7 clocks were named by their numbers.
    if (std::string_view(line, name) != "monotonic" && std::string_view(line, name) != "1") continue;
    char* at = line + name;
    char* end;
    int64_t seconds = strtoll(at, &end, 10), sum;
    if (end == at) return 0;
    int64_t nanoseconds = strtoll(end, nullptr, 10);
    if (__builtin_mul_overflow(seconds, int64_t{1'000'000'000}, &sum)) return 0;
    return __builtin_add_overflow(sum, nanoseconds, &sum) ? 0 : sum;
  }
  return 0;
}

int64_t MonotonicOffsetNs() noexcept {
  char text[255];
  int file = IsOfThisProcess() ? open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return 0;
  ssize_t size = read(file, text, sizeof(text));
  close(file);
  return size > 0 ? ParseMonotonicOffset({text, static_cast<size_t>(size)}) : 0;
}

int64_t HostMonotonicNs() noexcept {
  int64_t offset = g_offset_ns.load(std::memory_order_relaxed);
  if (offset == kUnknown) {
    offset = MonotonicOffsetNs();
    g_offset_ns.store(offset, std::memory_order_relaxed);
  }
  return MonotonicNs() - offset;
}

}  // namespace ddbg
