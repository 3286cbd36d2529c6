// NCCL's ABI as of 2.28.9 and the later functions of 2.29, declared by hand: no header of NVIDIA's is included.
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

// Defines an exported function as NCCL does: weak, with a strong twin whose name begins with p.
#define NCCL_API(result, name, ...)                                                            \
  extern "C" __attribute__((visibility("default"))) result name(__VA_ARGS__);                  \
  extern "C" __attribute__((visibility("default"), alias(#name))) result p##name(__VA_ARGS__); \
  extern "C" __attribute__((visibility("default"), weak)) result name(__VA_ARGS__)

struct ncclComm;
struct ncclWindow_vidmem;

namespace nullnccl {

enum Result : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};

struct UniqueId {
  char bytes[128];
};

// Grows at its end with NCCL's version: a field is there only if `size` covers it.
struct Config {
  size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
  // … fields that the double does not look at
};

constexpr unsigned kConfigMagic = 0xcafebeef;
constexpr int kUndefinedInt = INT_MIN;

struct SimInfo {
  size_t size;
  unsigned magic;
  unsigned version;
  float estimated_time;
};

// ncclWaitSignalDesc_t
struct WaitSignalDescription {
  int count;
  int peer;
  int signal;
  int context;
};

enum DataType : int {
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat16,
  kFloat32,
  kFloat64,
  kBfloat16,
  kFloat8e4m3,
  kFloat8e5m2,
  kDataTypes
};
enum ReductionOp : int { kSum, kProd, kMax, kMin, kAvg, kFirstCustomOp };

constexpr int kNoColor = -1;
constexpr size_t kWindowAlignment = 4096;

}  // namespace nullnccl
