// The byte layout of a trace file, as FORMAT.md has it. Shared by TraceWriter and TraceReader.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "proto/crc32c.h"

namespace ddbg {

static_assert(std::endian::native == std::endian::little, "the file is little-endian and so must the machine be");

struct TraceFileHeader {
  char magic[8];
  uint32_t version;
  uint32_t features;
};
static_assert(sizeof(TraceFileHeader) == 16);

inline constexpr char kTraceMagic[9] = "DDBGTRC1";
inline constexpr uint32_t kTraceVersion = 1;
inline constexpr uint32_t kFeatureZstd = 1;
inline constexpr uint32_t kKnownFeatures = kFeatureZstd;

enum FrameType : uint32_t { kChunkFrame = 1 };

struct FrameHeader {
  uint32_t length;  // bytes of payload
  uint32_t type;
  uint32_t crc;
  uint32_t pad;  // 0
  int64_t t_min;
  int64_t t_max;
};
static_assert(sizeof(FrameHeader) == 32);

inline constexpr uint32_t kMaxFramePayload = 16u << 20;  // bytes, compressed
inline constexpr size_t kMaxChunkBytes = 16u << 20;      // bytes, not compressed

inline uint32_t FrameCrc(const FrameHeader& header, std::string_view payload) {
  uint32_t crc = Crc32c(0, &header.type, sizeof(header.type));
  crc = Crc32c(crc, &header.t_min, sizeof(header.t_min));
  crc = Crc32c(crc, &header.t_max, sizeof(header.t_max));
  return Crc32c(crc, payload.data(), payload.size());
}

// True if the frame's own length says that it ends within the `available` bytes that start at its header.
inline bool FrameIsWhole(const FrameHeader& header, uint64_t available) {
  return header.length <= kMaxFramePayload && sizeof(FrameHeader) + header.length <= available;
}

}  // namespace ddbg
