// CRC-32C (Castagnoli), as in iSCSI: reflected, initial and final value inverted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ddbg {

// The CRC of `crc`'s bytes followed by these; 0 starts.
uint32_t Crc32c(uint32_t crc, const void* bytes, size_t size);

namespace internal {
uint32_t Crc32cSoftware(uint32_t crc, const void* bytes, size_t size);  // for machines without the instruction
}

}  // namespace ddbg
