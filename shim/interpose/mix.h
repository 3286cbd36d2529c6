// Hashes of which identities are made: equal on all ranks and in all builds that meet in one run.
#pragma once

#include <cstdint>

namespace ddbg::shim {

inline uint64_t Mix(uint64_t h, uint64_t value) {
  h ^= value + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  h *= 0xd6e8feb86659fd93ull;
  return h ^ (h >> 32);
}

}  // namespace ddbg::shim
