// What a tool needs of NVTX (github.com/NVIDIA/NVTX, c/include/nvtx3: nvToolsExt.h, nvtxDetail/nvtxTypes.h), declared
// here so that the library builds without NVIDIA's headers. tests/conformance/nvtx_abi.cc compares them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ddbg::shim::nvtx {

inline constexpr char kInjectionVariable[] = "NVTX_INJECTION64_PATH";

enum ExportTable : uint32_t { kCallbacks = 1 };
enum Module : int { kCore = 1, kCore2 = 5 };
enum CoreCallback : unsigned {
  kRangeStartEx = 4,
  kRangeStartA = 5,
  kRangeStartW = 6,
  kRangeEnd = 7,
  kRangePushEx = 8,
  kRangePushA = 9,
  kRangePushW = 10,
  kRangePop = 11,
};
enum Core2Callback : unsigned {
  kDomainRangeStartEx = 2,
  kDomainRangeEnd = 3,
  kDomainRangePushEx = 4,
  kDomainRangePop = 5,
  kDomainRegisterStringA = 10,
  kDomainRegisterStringW = 11,
  kDomainCreateA = 12,
  kDomainCreateW = 13,
};

using Function = void (*)();
// Of each callback where its pointer is; up to `size`.
using FunctionTable = Function**;

struct Callbacks {
  size_t struct_size;
  int (*GetModuleFunctionTable)(Module module, FunctionTable* table, unsigned* size);
};
using GetExportTable = const void* (*)(uint32_t table);

enum MessageType : int32_t { kNoMessage = 0, kAscii = 1, kUnicode = 2, kRegistered = 3 };

struct EventAttributes {
  uint16_t version;
  uint16_t size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type;
  int32_t reserved;
  uint64_t payload;
  int32_t message_type;
  const void* message;  // char*, wchar_t* or what a RegisterString gave
};
static_assert(sizeof(EventAttributes) == 48 && offsetof(EventAttributes, message) == 40);

inline constexpr int kNoPushPopTracking = -2;  // in place of a level

}  // namespace ddbg::shim::nvtx
