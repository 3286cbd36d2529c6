// What ddbg knows of NCCL's binary interface, declared by itself so that libddbg.so builds without nccl.h and serves
// all versions. Facts of nccl.h 2.28.9 and the tags before it (nccl-cuda.md B7, B8); tests/conformance/nccl_abi.cc
// compares them with the header that is installed. Private structures are never looked into.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ddbg::shim::nccl {

struct UniqueId {
  char bytes[128];
};

enum Result : int32_t {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kInvalidUsage = 5,
  kInProgress = 7,  // a call on a non-blocking communicator goes on by itself
};

inline constexpr int32_t kSplitNoColor = -1;

// ncclDataType_t by its value; names as in nccl.h.
struct TypeInfo {
  const char* name;
  uint32_t bytes;
};
inline constexpr TypeInfo kTypes[] = {
    {"ncclInt8", 1},    {"ncclUint8", 1},    {"ncclInt32", 4},      {"ncclUint32", 4},
    {"ncclInt64", 8},   {"ncclUint64", 8},   {"ncclFloat16", 2},    {"ncclFloat32", 4},
    {"ncclFloat64", 8}, {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1},
};
inline constexpr int32_t kTypeCount = sizeof(kTypes) / sizeof(kTypes[0]);

// ncclRedOp_t: sum, prod, max, min, avg; from 5 on the program's own, whose numbers differ between ranks.
inline constexpr int32_t kFirstOwnOp = 5;

// ncclConfig_t grows at its end, and the program may be built with another version than the library: a field is there
// if it lies within `size`. Unset: kUnsetInt, or a null pointer.
struct Config {
  static constexpr uint32_t kMagic = 0xcafebeef;
  static constexpr int32_t kUnsetInt = INT32_MIN;
  enum class Type { kInt, kText };
  struct Field {
    const char* name;
    uint32_t offset;
    Type type;
  };
  static constexpr uint32_t kSizeOffset = 0, kMagicOffset = 8, kVersionOffset = 12;
  static constexpr Field kFields[] = {
      {"blocking", 16, Type::kInt},
      {"cgaClusterSize", 20, Type::kInt},
      {"minCTAs", 24, Type::kInt},
      {"maxCTAs", 28, Type::kInt},
      {"netName", 32, Type::kText},
      {"splitShare", 40, Type::kInt},
      {"trafficClass", 44, Type::kInt},
      {"commName", 48, Type::kText},
      {"collnetEnable", 56, Type::kInt},
      {"CTAPolicy", 60, Type::kInt},
      {"shrinkShare", 64, Type::kInt},
      {"nvlsCTAs", 68, Type::kInt},
      {"nChannelsPerNetPeer", 72, Type::kInt},
      {"nvlinkCentricSched", 76, Type::kInt},
  };
};

// Of the ncclConfig_t at `config`; false: not there, not set, or no ncclConfig_t.
bool ReadInt(const void* config, const Config::Field& field, int32_t* value) noexcept;
const char* ReadText(const void* config, const Config::Field& field) noexcept;  // nullptr
bool IsBlocking(const void* config) noexcept;                                   // NCCL's default is true

}  // namespace ddbg::shim::nccl
