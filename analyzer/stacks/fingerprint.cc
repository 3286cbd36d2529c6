#include "analyzer/stacks/fingerprint.h"

#include <string_view>

#include "analyzer/model/module_role.h"

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

// Calls fn(place, number) for each frame of the application, innermost first: file and offset, then Python's functions
// and lines.
template <typename Fn>
void ForEachApplicationFrame(const Process& process, uint32_t stack_id, Fn&& fn) {
  auto stack = process.stacks_by_id.find(stack_id);
  if (stack == process.stacks_by_id.end()) return;
  for (uint64_t address : stack->second) {
    const Module* module = FindModule(process, address - 1);
    if (module && RoleOfModule(module->path) == ModuleRole::kApplication)
      fn(ModuleIdentity(*module), address - module->bias);
  }
  auto python = process.python_by_stack_id.find(stack_id);
  if (python == process.python_by_stack_id.end()) return;
  for (const PythonFrame& frame : python->second) {
    auto code = process.python_codes.find(frame.code);
    if (code == process.python_codes.end() || IsPythonLibrary(code->second.file)) continue;
    fn(std::string(BaseName(code->second.file)) + ":" + code->second.name, static_cast<uint64_t>(frame.line));
  }
}

}  // namespace

std::vector<SiteFrame> NormalizedStack(const Process& process, uint32_t stack_id) {
  std::vector<SiteFrame> frames;
  ForEachApplicationFrame(process, stack_id, [&](const std::string& place, uint64_t number) {
    frames.push_back({place, number});
  });
  return frames;
}

uint64_t SiteKey(const Process& process, uint32_t stack_id) {
  Hash hash;
  std::vector<SiteFrame> frames = NormalizedStack(process, stack_id);
  if (frames.empty()) return 0;
  for (const SiteFrame& frame : frames) {
    hash.Add(frame.module);
    hash.Add(frame.offset);
  }
  return hash.value ? hash.value : 1;
}

std::unordered_map<uint32_t, uint64_t> SiteKeys(const Process& process) {
  std::unordered_map<uint32_t, uint64_t> keys;
  keys.reserve(process.stacks_by_id.size());
  for (const auto& [id, stack] : process.stacks_by_id) keys[id] = SiteKey(process, id);
  return keys;
}

}  // namespace ddbg::analyzer
