#include "analyzer/load/run_id.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace ddbg::analyzer {
namespace {

uint64_t RandomWord() {
  uint64_t word = 0;
  if (getrandom(&word, sizeof(word), 0) == sizeof(word)) return word;
  std::random_device device;  // an old kernel
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

std::string NewRunId() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t ms = static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
  uint64_t high = (ms << 16) | 0x7000 | (RandomWord() & 0xfff);             // version 7
  uint64_t low = 0x8000000000000000 | (RandomWord() & 0x3fffffffffffffff);  // variant 10
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff, high & 0xffff, low >> 48,
                     low & 0xffffffffffff);
}

bool IsUsableRunId(std::string_view id) {
  if (id.empty() || id.size() > 200 || id[0] == '.' || id == "latest") return false;
  return std::none_of(id.begin(), id.end(), [](unsigned char c) { return c == '/' || c < 0x20 || c == 0x7f; });
}

}  // namespace ddbg::analyzer
