#include "analyzer/fingerprint.h"

#include <string_view>

#include "analyzer/module_role.h"

namespace ddbg::analyzer {
namespace {

const std::string& ModuleIdentity(const Module& module) {
  return module.build_id.empty() ? module.path : module.build_id;
}

// FNV-1a: the key is compared between processes of one analysis only, and never stored.
struct Hash {
  uint64_t value = 0xcbf29ce484222325;
  void Add(std::string_view bytes) {
    for (unsigned char byte : bytes) value = (value ^ byte) * 0x100000001b3;
  }
  void Add(uint64_t word) { Add(std::string_view(reinterpret_cast<const char*>(&word), sizeof(word))); }
};

// Calls fn(module, offset) for each frame of the application, innermost first.
template <typename Fn>
void ForEachApplicationFrame(const Process& process, uint32_t stack_id, Fn&& fn) {
  auto stack = process.stacks_by_id.find(stack_id);
  if (stack == process.stacks_by_id.end()) return;
  for (uint64_t address : stack->second) {
    const Module* module = FindModule(process, address - 1);
    if (module && RoleOfModule(module->path) == ModuleRole::kApplication) fn(*module, address - module->bias);
  }
}

}  // namespace

std::vector<SiteFrame> NormalizedStack(const Process& process, uint32_t stack_id) {
  std::vector<SiteFrame> frames;
  ForEachApplicationFrame(process, stack_id, [&](const Module& module, uint64_t offset) {
    frames.push_back({ModuleIdentity(module), offset});
  });
  return frames;
}

uint64_t SiteKey(const Process& process, uint32_t stack_id) {
  Hash hash;
  bool any = false;
  ForEachApplicationFrame(process, stack_id, [&](const Module& module, uint64_t offset) {
    hash.Add(ModuleIdentity(module));
    hash.Add(offset);
    any = true;
  });
  if (!any) return 0;
  return hash.value ? hash.value : 1;
}

std::unordered_map<uint32_t, uint64_t> SiteKeys(const Process& process) {
  std::unordered_map<uint32_t, uint64_t> keys;
  keys.reserve(process.stacks_by_id.size());
  for (const auto& [id, stack] : process.stacks_by_id) keys[id] = SiteKey(process, id);
  return keys;
}

}  // namespace ddbg::analyzer
