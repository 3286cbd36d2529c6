#include "shim/nccl/group.h"

#include <atomic>

namespace ddbg::shim::nccl {
namespace {

constinit std::atomic<uint64_t> g_groups{0};

}  // namespace

constinit thread_local Group g_group [[gnu::tls_model("initial-exec")]] = {};

uint64_t NextGroupNumber() noexcept { return g_groups.fetch_add(1, std::memory_order_relaxed) + 1; }

}  // namespace ddbg::shim::nccl
