// The structures that libddbg.so exports under NCCL's names.
#pragma once

namespace ddbg::shim::nccl::plugin {

// &ncclProfiler_v1 … &ncclProfiler_v6
const void* ExportOf(int version) noexcept;

}  // namespace ddbg::shim::nccl::plugin
