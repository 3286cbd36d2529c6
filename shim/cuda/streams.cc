#include "shim/cuda/streams.h"

#include <string.h>

#include <protozero/pbf_writer.hpp>
#include <string>

#include "shim/cuda/runtime.h"
#include "shim/interpose/handle_table.h"
#include "shim/recorder/ids.h"

namespace ddbg::shim::cuda {
namespace {

struct Stream {
  uint32_t id;
  uint64_t token;  // of the recorder the definition was written to: a forked child has its own
};

using StreamTable = HandleTable<Stream, 1 << 9>;

constinit StreamTable g_streams;
constinit std::atomic<uint64_t> g_devices_defined{0};  // a bit each; of recorder g_devices_token
constinit std::atomic<uint64_t> g_devices_token{0};

// Allocated by whoever comes first; who comes in the same instant goes without ids.
bool HaveTable() {
  static constinit std::atomic<int> state{0};
  if (state.load(std::memory_order_acquire) == 2) return true;
  int none = 0;
  if (!state.compare_exchange_strong(none, 1, std::memory_order_acquire) || !g_streams.Allocate()) return false;
  state.store(2, std::memory_order_release);
  return true;
}

struct Description {
  uint64_t handle;
  int32_t device;
  const char* kind;
  uint32_t flags = 0;
  int32_t priority = 0;
  uint32_t tid = 0;
};

void Write(ThreadState& t, uint32_t id, const Description& d) {
  DefineDevice(t, d.device);
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer stream(definition, 8);
    stream.add_uint32(1, id);
    stream.add_fixed64(2, d.handle);
    stream.add_sint32(3, d.device);
    stream.add_string(4, d.kind);
    stream.add_uint32(5, d.flags);
    stream.add_sint32(6, d.priority);
    stream.add_uint32(7, d.tid);
  }
  PushDefinition(t, bytes);
}

uint32_t Define(ThreadState& t, uint64_t key, const Description& d) {
  Stream stream = {NextId(IdKind::kStream), t.token};
  g_streams.Remove(key);
  if (!g_streams.Insert(key, stream)) return 0;
  Write(t, stream.id, d);
  return stream.id;
}

// Handles are addresses below 2^56: what lies above is of the streams that no address names.
uint64_t LegacyKey(int32_t device) { return uint64_t{1} << 62 | static_cast<uint32_t>(device); }
uint64_t PerThreadKey(const ThreadState& t, int32_t device) {
  return uint64_t{1} << 61 | static_cast<uint64_t>(t.slot->tid.load(std::memory_order_relaxed)) << 20 |
         static_cast<uint32_t>(device & 0xfffff);
}

}  // namespace

constinit std::atomic<int32_t> g_captures{0};

uint32_t StreamId(ThreadState& t, uint64_t handle, bool per_thread, int32_t device) noexcept {
  if (!HaveTable()) return 0;
  bool own = handle == kStreamPerThread || (handle == 0 && per_thread);
  bool legacy = !own && handle <= kStreamLegacy;
  if ((own || legacy) && device < 0) device = DeviceNow(t);
  uint64_t key = own ? PerThreadKey(t, device) : legacy ? LegacyKey(device) : handle;
  if (Stream* stream = g_streams.Find(key); stream && stream->token == t.token) return stream->id;
  if (device < 0) device = DeviceNow(t);
  Description d = {handle, device, own ? "per-thread" : legacy ? "legacy" : "unknown"};
  if (own) d.tid = t.slot->tid.load(std::memory_order_relaxed);
  return Define(t, key, d);
}

uint32_t AddStream(ThreadState& t, uint64_t handle, uint32_t flags, int32_t priority) noexcept {
  if (!HaveTable() || handle <= kStreamPerThread) return 0;
  return Define(t, handle, {handle, DeviceNow(t), "created", flags, priority});
}

void ForgetStream(uint64_t handle) noexcept {
  if (HaveTable() && handle > kStreamPerThread) g_streams.Remove(handle);
}

void KeepStream(ThreadState& t, uint64_t handle, uint32_t id) noexcept {
  if (HaveTable() && id && handle > kStreamPerThread) g_streams.Insert(handle, {id, t.token});
}

bool IsCapturingSlow(uint64_t handle) noexcept {
  LibraryCopy* copy = handle > kStreamLegacy ? g_copies.Any() : nullptr;
  auto* ask = copy ? FunctionOf<int(uint64_t, int*)>(*copy, kStreamIsCapturing) : nullptr;
  int status = kCaptureNone;
  return ask && AskQuietly(*copy, true, [&] { return ask(handle, &status); }) && status != kCaptureNone;
}

void DefineDevice(ThreadState& t, int32_t device) noexcept {
  if (device < 0 || device > 63) return;
  if (g_devices_token.exchange(t.token, std::memory_order_relaxed) != t.token)
    g_devices_defined.store(0, std::memory_order_relaxed);
  uint64_t bit = uint64_t{1} << device;
  if (g_devices_defined.fetch_or(bit, std::memory_order_relaxed) & bit) return;
  char bus_id[kBusIdBytes] = "";
  BusIdOf(device, bus_id);
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer d(definition, 10);
    d.add_sint32(1, device);
    d.add_string(2, std::string(bus_id, strnlen(bus_id, sizeof(bus_id))));
  }
  PushDefinition(t, bytes);
}

}  // namespace ddbg::shim::cuda
