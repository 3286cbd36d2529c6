// What shim/marks/nvtx/abi.h says of NVTX, against NVIDIA's headers. Compiling is the test.
#include <nvtx3/nvToolsExt.h>

#include <type_traits>

#include "shim/marks/nvtx/abi.h"

namespace ours = ddbg::shim::nvtx;

#define SAME_VALUE(own, theirs) static_assert(static_cast<long>(own) == static_cast<long>(theirs))
SAME_VALUE(ours::kCallbacks, NVTX_ETID_CALLBACKS);
SAME_VALUE(ours::kCore, NVTX_CB_MODULE_CORE);
SAME_VALUE(ours::kCore2, NVTX_CB_MODULE_CORE2);
SAME_VALUE(ours::kRangeStartEx, NVTX_CBID_CORE_RangeStartEx);
SAME_VALUE(ours::kRangeStartA, NVTX_CBID_CORE_RangeStartA);
SAME_VALUE(ours::kRangeStartW, NVTX_CBID_CORE_RangeStartW);
SAME_VALUE(ours::kRangeEnd, NVTX_CBID_CORE_RangeEnd);
SAME_VALUE(ours::kRangePushEx, NVTX_CBID_CORE_RangePushEx);
SAME_VALUE(ours::kRangePushA, NVTX_CBID_CORE_RangePushA);
SAME_VALUE(ours::kRangePushW, NVTX_CBID_CORE_RangePushW);
SAME_VALUE(ours::kRangePop, NVTX_CBID_CORE_RangePop);
SAME_VALUE(ours::kDomainRangeStartEx, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME_VALUE(ours::kDomainRangeEnd, NVTX_CBID_CORE2_DomainRangeEnd);
SAME_VALUE(ours::kDomainRangePushEx, NVTX_CBID_CORE2_DomainRangePushEx);
SAME_VALUE(ours::kDomainRangePop, NVTX_CBID_CORE2_DomainRangePop);
SAME_VALUE(ours::kDomainRegisterStringA, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME_VALUE(ours::kDomainRegisterStringW, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME_VALUE(ours::kDomainCreateA, NVTX_CBID_CORE2_DomainCreateA);
SAME_VALUE(ours::kDomainCreateW, NVTX_CBID_CORE2_DomainCreateW);
SAME_VALUE(ours::kAscii, NVTX_MESSAGE_TYPE_ASCII);
SAME_VALUE(ours::kUnicode, NVTX_MESSAGE_TYPE_UNICODE);
SAME_VALUE(ours::kRegistered, NVTX_MESSAGE_TYPE_REGISTERED);
SAME_VALUE(ours::kNoPushPopTracking, NVTX_NO_PUSH_POP_TRACKING);

#define SAME_PLACE(own, theirs) \
  static_assert(offsetof(ours::EventAttributes, own) == offsetof(nvtxEventAttributes_t, theirs))
static_assert(sizeof(ours::EventAttributes) == sizeof(nvtxEventAttributes_t));
SAME_PLACE(version, version);
SAME_PLACE(size, size);
SAME_PLACE(message_type, messageType);
SAME_PLACE(message, message);

static_assert(sizeof(ours::Callbacks) == sizeof(NvtxExportTableCallbacks));
static_assert(offsetof(ours::Callbacks, GetModuleFunctionTable) ==
              offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
static_assert(std::is_same_v<ours::FunctionTable, NvtxFunctionTable>);
static_assert(std::is_same_v<nvtxRangeId_t, uint64_t>);
static_assert(std::is_same_v<ours::GetExportTable, NvtxGetExportTableFunc_t>);

int main() {}
