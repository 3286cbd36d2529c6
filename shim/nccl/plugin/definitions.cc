#include "shim/nccl/plugin/definitions.h"

#include <string.h>

#include <atomic>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>

#include "proto/call.h"
#include "shim/nccl/library.h"
#include "shim/recorder/ids.h"
#include "shim/recorder/intern_table.h"

namespace ddbg::shim::nccl::plugin {
namespace {

constexpr uint32_t kPlans = 1 << 12, kPlanBytes = 1 << 17;
constexpr char kPrefix[] = "nccl";

InternTable g_plans;
constinit std::atomic<uint64_t> g_prepared{0};  // recorder token
constinit std::atomic<uint64_t> g_level{0};
constinit std::atomic<uint32_t> g_type_ids[kTypeCount] = {};  // where no wrapper has defined them

// What a plan is, as bytes: no pointers, so that equal ones are one.
struct PlanKey {
  char algorithm[30];
  char protocol[30];
  uint8_t channels, warps;
};

template <size_t kSize>
void CopyText(const char* from, char (&to)[kSize]) {
  for (size_t i = 0; i + 1 < kSize && from[i]; ++i) to[i] = from[i];
}

void DefineType(ThreadState& t, int type) {
  uint32_t id = NextId(IdKind::kDatatype);
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer d(definition, 3);
    d.add_uint32(1, id);
    d.add_string(2, kTypes[type].name);
    d.add_uint64(3, kTypes[type].bytes);
    d.add_string(4, kTypes[type].name);
    d.add_uint64(5, 1);
  }
  if (PushDefinition(t, bytes)) g_type_ids[type].store(id, std::memory_order_relaxed);
}

void WriteLevel(ThreadState& t, const char* name, const std::string& why) {
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer level(definition, 11);
    level.add_string(1, name);
    level.add_bool(2, true);
    level.add_string(3, why);
  }
  PushDefinition(t, bytes);
}

}  // namespace

bool PreparePlans(ThreadState& t) noexcept {
  uint64_t before = g_prepared.load(std::memory_order_acquire);
  if (before == t.token) return true;
  // Two communicators at once: the loser's first plans go unnamed.
  if (!g_prepared.compare_exchange_strong(before, t.token, std::memory_order_acq_rel)) return true;
  for (auto& id : g_type_ids) id.store(0, std::memory_order_relaxed);
  return g_plans.Make(kPlans, kPlanBytes);
}

uint32_t PlanId(ThreadState& t, const Told& told) noexcept {
  if (!g_plans.is_made()) return 0;
  PlanKey key = {};
  CopyText(told.algorithm, key.algorithm);
  CopyText(told.protocol, key.protocol);
  key.channels = static_cast<uint8_t>(told.channels);
  key.warps = static_cast<uint8_t>(told.warps);
  Interned* plan = g_plans.Find(&key, sizeof(key));
  if (!plan) return 0;
  if (plan->is_sent()) [[likely]]
    return plan->id;
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer p(definition, 12);
    p.add_uint32(1, plan->id);
    p.add_string(2, key.algorithm);
    p.add_string(3, key.protocol);
    p.add_uint32(4, key.channels);
    p.add_uint32(5, key.warps);
  }
  if (PushDefinition(t, bytes)) plan->SetSent();
  return plan->id;
}

const char* TypeNameOf(uint8_t datatype) { return datatype < kTypeCount ? kTypes[datatype].name : nullptr; }

uint32_t TypeIdOf(const char* name) noexcept {
  if (!name) return 0;
  for (int type = 0; type < kTypeCount; ++type) {
    if (strcmp(name, kTypes[type].name) != 0) continue;
    uint32_t own = g_type_ids[type].load(std::memory_order_relaxed);
    return own || !g_tables ? own : g_tables->type_ids[type];
  }
  return 0;
}

int CallOf(const char* func) noexcept {
  if (!func) return -1;
  std::string_view wanted = func;
  constexpr size_t kFirst = CallIndex(NcclCall{}), kEnd = CallIndex(NcclCall::kCount);
  for (size_t i = kFirst; i < kEnd; ++i) {
    std::string_view name = kCalls[i].name;
    if (name.size() == wanted.size() + sizeof(kPrefix) - 1 && name.ends_with(wanted)) return static_cast<int>(i);
  }
  return -1;
}

bool HasRoot(int call) noexcept {
  for (NcclCall rooted : {NcclCall::ncclReduce, NcclCall::ncclBroadcast, NcclCall::ncclGather, NcclCall::ncclScatter})
    if (call == static_cast<int>(CallIndex(rooted))) return true;
  return false;
}

void DefineHash(ThreadState& t, uint32_t comm, uint64_t hash) noexcept {
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer c(definition, 2);
    c.add_uint32(1, comm);  // no uid: adds to what was said before
    c.add_string(14, "NCCL");
    c.add_fixed64(22, hash);
  }
  PushDefinition(t, bytes);
}

uint32_t DefineCommunicator(ThreadState& t, uint64_t hash, const char* name, int32_t ranks, int32_t rank) noexcept {
  for (int type = 0; type < kTypeCount; ++type)
    if (!g_type_ids[type].load(std::memory_order_relaxed)) DefineType(t, type);
  if (hash == 0) return 0;
  uint32_t id = NextId(IdKind::kCommunicator);
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer c(definition, 2);
    c.add_uint32(1, id);
    c.add_fixed64(2, hash * 0xd6e8feb86659fd93ull);
    c.add_string(5, "nccl");
    c.add_uint32(6, static_cast<uint32_t>(ranks));
    c.add_sint32(7, rank);
    c.add_string(12, name ? std::string(name, strnlen(name, 255)) : "");
    c.add_string(14, "NCCL");
    c.add_fixed64(22, hash);
  }
  PushDefinition(t, bytes);
  return id;
}

void DefineLevel(ThreadState& t, int version, bool has_other) noexcept {
  uint64_t before = g_level.load(std::memory_order_relaxed);
  if (before == t.token || !g_level.compare_exchange_strong(before, t.token, std::memory_order_relaxed)) return;
  std::string why =
      "NCCL's profiler interface, version " + std::to_string(version) + ": algorithm, protocol and channels";
  if (CurrentSettings().nccl_plugin != PluginMode::kTimes) {
    why += "; not when the device began and ended (DDBG_NCCL_PLUGIN=times)";
  } else if (version < 3) {
    why += "; NCCL before 2.26 does not tell when the device began and ended";
  } else {
    why += version == 3
               ? "; when the proxy thread saw the kernel begin and end (NCCL before 2.27 tells no time of the device)"
               : "; when the device began and ended each operation";
    why += "; small AllReduces take up to 1 % longer so with NCCL 2.29.7, 4 to 13 % with 2.31.2 (nccl#2355)";
  }
  if (has_other) why += "; another plugin beside it";
  WriteLevel(t, "NCCL plugin", why);
  if (HasWrappers(t)) return;
  WriteLevel(
      t, "NCCL",
      std::string(
          "NCCL is linked statically and seen by its plugin interface alone: no reduction operator, no duration") +
          (version < 5 ? "; of each operation what NCCL made of it, once it was enqueued" : ""));
}

}  // namespace ddbg::shim::nccl::plugin
