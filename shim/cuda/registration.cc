#include "shim/cuda/registration.h"

#include <atomic>

#include "shim/cuda/runtime.h"
#include "shim/interpose/handle_table.h"
#include "shim/interpose/word.h"
#include "shim/recorder/say.h"

namespace ddbg::shim::cuda {
namespace {

constinit HandleTable<const char*, 1 << 15> g_registered;
enum State : int { kNone, kMaking, kMade, kFailed };
constinit std::atomic<int> g_state{kNone};

bool HaveTable() {
  int state = kNone;
  if (g_state.compare_exchange_strong(state, kMaking, std::memory_order_acquire)) {
    state = g_registered.Allocate() ? kMade : kFailed;
    g_state.store(state, std::memory_order_release);
  }
  return state == kMade;
}

void NoteRegistered(uint64_t host_function, const char* name) {
  if (!HaveTable()) return;
  g_registered.Remove(host_function);  // of an object that is no longer loaded
  g_registered.Insert(host_function, name);
}

}  // namespace

const char* RegisteredName(uint64_t host_function) noexcept {
  if (g_state.load(std::memory_order_acquire) != kMade) return nullptr;
  const char* const* name = g_registered.Find(host_function);
  return name ? *name : nullptr;
}

}  // namespace ddbg::shim::cuda

extern "C" [[gnu::visibility("default")]] void __cudaRegisterFunction(ddbg::shim::Word object, uint64_t host_function,
                                                                      ddbg::shim::Word device_function,
                                                                      const char* name, ddbg::shim::Word limit,
                                                                      ddbg::shim::Word tid, ddbg::shim::Word bid,
                                                                      ddbg::shim::Word block, ddbg::shim::Word grid,
                                                                      ddbg::shim::Word warp) {
  using namespace ddbg::shim;
  LibraryCopy* copy = cuda::g_copies.Of(__builtin_return_address(0));
  auto* real = copy ? cuda::FunctionOf<void(Word, uint64_t, Word, const char*, Word, Word, Word, Word, Word, Word)>(
                          *copy, cuda::kRegisterFunction)
                    : nullptr;
  if (!real) {
    Say("__cudaRegisterFunction was called, which no loaded CUDA has");
    return;
  }
  if (!cuda::FunctionOf<void>(*copy, cuda::kFuncGetName)) cuda::NoteRegistered(host_function, name);
  real(object, host_function, device_function, name, limit, tid, bid, block, grid, warp);
}
