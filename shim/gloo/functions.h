// What is wrapped, by its C++ names: indices into the tables of real functions.
#pragma once

#include <cstdint>

namespace ddbg::shim::gloo {

enum class Function : uint32_t {
#define DDBG_GLOO_NAME(call, symbol) k##symbol,
#define DDBG_GLOO_HOOK(hook, symbol) k##symbol,
#include "shim/gloo/names.def"
  kCount
};

enum class TorchFunction : uint32_t {
#define DDBG_TORCH_HOOK(hook, symbol) k##symbol,
#include "shim/gloo/names.def"
  kCount
};

}  // namespace ddbg::shim::gloo
