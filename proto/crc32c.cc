#include "proto/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace ddbg {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected 0x1EDC6F41

// Slicing by 8: table[k][b] is the CRC of byte b followed by k zero bytes.
constexpr std::array<std::array<uint32_t, 256>, 8> MakeTables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr auto kTables = MakeTables();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t Crc32cHardware(uint32_t crc, const void* bytes, size_t size) {
  auto* at = static_cast<const unsigned char*>(bytes);
  uint64_t state = ~crc;
  for (; size >= 8; at += 8, size -= 8) {
    uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    state = _mm_crc32_u64(state, word);
  }
  auto rest = static_cast<uint32_t>(state);
  for (; size > 0; ++at, --size) rest = _mm_crc32_u8(rest, *at);
  return ~rest;
}
#endif

}  // namespace

uint32_t internal::Crc32cSoftware(uint32_t crc, const void* bytes, size_t size) {
  auto* at = static_cast<const unsigned char*>(bytes);
  crc = ~crc;
  for (; size >= 8; at += 8, size -= 8) {
    uint32_t low = crc ^ (uint32_t{at[0]} | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16 | uint32_t{at[3]} << 24);
    crc = kTables[7][low & 0xff] ^ kTables[6][(low >> 8) & 0xff] ^ kTables[5][(low >> 16) & 0xff] ^
          kTables[4][low >> 24] ^ kTables[3][at[4]] ^ kTables[2][at[5]] ^ kTables[1][at[6]] ^ kTables[0][at[7]];
  }
  for (; size > 0; ++at, --size) crc = (crc >> 8) ^ kTables[0][(crc ^ *at) & 0xff];
  return ~crc;
}

uint32_t Crc32c(uint32_t crc, const void* bytes, size_t size) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return Crc32cHardware(crc, bytes, size);
#endif
  return internal::Crc32cSoftware(crc, bytes, size);
}

}  // namespace ddbg
