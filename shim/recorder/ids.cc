#include "shim/recorder/ids.h"

namespace ddbg::shim {

constinit std::atomic<uint32_t> g_last_id[static_cast<size_t>(IdKind::kCount)] = {};
constinit std::atomic<uint64_t> g_last_operation{0};

}  // namespace ddbg::shim
