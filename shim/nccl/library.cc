#include "shim/nccl/library.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>

#include <new>
#include <protozero/pbf_writer.hpp>
#include <string>

#include "shim/cuda/library.h"
#include "shim/interpose/definitions.h"
#include "shim/recorder/ids.h"

namespace ddbg::shim::nccl {
namespace {

constexpr const char* kNames[] = {
#define DDBG_NCCL(name, ...) #name,
#include "proto/calls_nccl.def"
#undef DDBG_NCCL
};

constinit std::atomic<uint64_t> g_attaching{0};  // token whose attachment has begun

bool AllocateTables() {
  if (g_tables) {
    g_tables->comms.Clear();
    g_tables->id_uses.Clear();
    g_tables->own_ops.Clear();
    return true;
  }
  void* memory = mmap(nullptr, sizeof(Tables), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  Tables* tables = new (memory) Tables;
  if (!tables->comms.Allocate() || !tables->id_uses.Allocate() || !tables->own_ops.Allocate()) return false;
  g_tables = tables;
  return true;
}

// 22809 is 2.28.9; up to 2.8 the code was 2804 (NCCL_VERSION in nccl.h).
std::string VersionText(int code) {
  int major = code >= 10000 ? code / 10000 : code / 1000;
  int minor = code >= 10000 ? code / 100 % 100 : code / 100 % 10;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(code % 100);
}

void WriteVersion(ThreadState& t) {
  const LibraryCopy* copy = g_copies.Any();
  if (!copy) return;
  int code = 0;
  auto* get_version = reinterpret_cast<int (*)(int*)>(dlsym(copy->handle, "ncclGetVersion"));
  WriteLibrary(t, "NCCL", get_version && get_version(&code) == 0 ? VersionText(code).c_str() : "", copy->path);
}

// The plugin says so itself as soon as NCCL comes to it.
const char* WhyNoPlugin() {
  switch (CurrentSettings().nccl_plugin) {
    case PluginMode::kOn:
    case PluginMode::kTimes: return "asked for (DDBG_NCCL_PLUGIN), but NCCL has not come to it";
    default: return "DDBG_NCCL_PLUGIN=1 turns it on";
  }
}

void WriteLevels(ThreadState& t) {
  WriteLevel(t, "NCCL", true, "every call of the public functions; an NCCL linked statically is not seen");
  WriteLevel(t, "NCCL plugin", false, WhyNoPlugin());
}

void WriteTypes(ThreadState& t) {
  for (int i = 0; i < kTypeCount; ++i) {
    g_tables->type_ids[i] = NextId(IdKind::kDatatype);
    std::string bytes;
    protozero::pbf_writer definition(bytes);
    {
      protozero::pbf_writer type(definition, 3);
      type.add_uint32(1, g_tables->type_ids[i]);
      type.add_string(2, kTypes[i].name);
      type.add_uint64(3, kTypes[i].bytes);
      type.add_string(4, kTypes[i].name);
      type.add_uint64(5, 1);
    }
    PushDefinition(t, bytes);
  }
}

// Of a name that nobody wraps, so that it is not ours that is found.
bool Ask(const LibraryCopy& copy, const char* name, Word comm, int32_t* value) {
  auto* function = reinterpret_cast<int (*)(Word, int*)>(dlsym(copy.handle, name));
  int answer = -1;
  if (!function || function(comm, &answer) != kSuccess) return false;
  *value = answer;
  return true;
}

}  // namespace

constinit Tables* g_tables = nullptr;
constinit std::atomic<uint64_t> g_attached{0};
constinit LibraryCopies g_copies(kNames, static_cast<uint32_t>(NcclCall::kCount), "pncclGetVersion");

bool AttachSlow(ThreadState& t) noexcept {
  uint64_t before = g_attaching.load(std::memory_order_relaxed);
  if (before == t.token || !g_attaching.compare_exchange_strong(before, t.token, std::memory_order_acquire)) {
    // Another thread's first call: microseconds. Bounded, since this one may hold what that one needs.
    for (int turn = 0; turn < 1000 && g_attached.load(std::memory_order_acquire) != t.token; ++turn) sched_yield();
    return g_attached.load(std::memory_order_acquire) == t.token;
  }
  if (!AllocateTables()) return false;
  WriteVersion(t);
  WriteLevels(t);
  WriteTypes(t);
  cuda::Attach(t);  // NCCL's calls are on CUDA's streams: what is seen of CUDA is told with them
  g_attached.store(t.token, std::memory_order_release);
  return true;
}

bool AskCount(const LibraryCopy& copy, Word comm, int32_t* count) noexcept {
  return Ask(copy, "ncclCommCount", comm, count);
}
bool AskRank(const LibraryCopy& copy, Word comm, int32_t* rank) noexcept {
  return Ask(copy, "ncclCommUserRank", comm, rank);
}
bool AskDevice(const LibraryCopy& copy, Word comm, int32_t* device) noexcept {
  return Ask(copy, "ncclCommCuDevice", comm, device);
}

}  // namespace ddbg::shim::nccl
