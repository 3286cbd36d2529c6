#include "shim/nccl/communicators.h"

#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "shim/cuda/runtime.h"
#include "shim/cuda/streams.h"
#include "shim/interpose/mix.h"
#include "shim/recorder/ids.h"

namespace ddbg::shim::nccl {
namespace {

// The k-th time that this process becomes this rank of it: 0 at first.
uint32_t UseOf(uint64_t hash, int32_t rank) {
  uint64_t key = Mix(hash, static_cast<uint32_t>(rank)) | 1;
  uint32_t* uses = g_tables->id_uses.Find(key);
  if (!uses) uses = g_tables->id_uses.Insert(key, 0);
  return uses ? std::atomic_ref(*uses).fetch_add(1, std::memory_order_relaxed) : 0;
}

void PutConfig(protozero::pbf_writer& comm, const void* config) {
  auto put = [&](const char* name, const std::string& value) {
    protozero::pbf_writer pair(comm, 20);
    pair.add_string(1, name);
    pair.add_string(2, value);
  };
  for (const Config::Field& field : Config::kFields) {
    int32_t number;
    if (ReadInt(config, field, &number)) put(field.name, std::to_string(number));
    if (const char* text = ReadText(config, field)) put(field.name, std::string(text, strnlen(text, 255)));
  }
}

std::string NameIn(const void* config) {
  for (const Config::Field& field : Config::kFields)
    if (!strcmp(field.name, "commName"))
      if (const char* text = ReadText(config, field)) return std::string(text, strnlen(text, 255));
  return "";
}

void PutDevice(protozero::pbf_writer& comm, int32_t device) {
  if (device < 0) return;
  comm.add_sint32(15, device + 1);
  char bus_id[cuda::kBusIdBytes] = "";
  if (cuda::BusIdOf(device, bus_id)) comm.add_string(16, std::string(bus_id, strnlen(bus_id, sizeof(bus_id))));
}

void Write(ThreadState& t, const NewComm& made) {
  cuda::DefineDevice(t, made.comm.device);
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer comm(definition, 2);
    comm.add_uint32(1, made.comm.id);
    comm.add_fixed64(2, made.comm.uid);
    comm.add_uint32(3, made.parent);
    comm.add_uint32(4, made.creation_index);
    comm.add_string(5, made.kind);
    comm.add_uint32(6, made.comm.size);
    comm.add_sint32(7, made.comm.rank);
    comm.add_sint32(9, made.color);
    comm.add_sint32(10, made.key);
    comm.add_string(12, NameIn(made.config));
    comm.add_fixed64(13, made.parent_uid);
    comm.add_string(14, "NCCL");
    PutDevice(comm, made.comm.device);
    for (uint32_t i = 0; i < made.id_count; ++i) comm.add_fixed64(17, HashOf(made.ids[i]));
    comm.add_uint32(18, made.id_use);
    comm.add_packed_sint32(19, made.excluded, made.excluded + made.excluded_count);
    PutConfig(comm, made.config);
    comm.add_bool(21, made.comm.blocking);
  }
  PushDefinition(t, bytes);
}

void Begin(NewComm* made, const void* config) {
  made->comm.id = NextId(IdKind::kCommunicator);
  made->comm.rank = -1;
  made->comm.device = cuda::CurrentDevice();
  made->comm.blocking = IsBlocking(config);
  made->config = config;
}

void BeginChild(Comm& parent, NewComm* made, const char* kind) {
  made->kind = kind;
  made->parent = parent.id;
  made->parent_uid = parent.uid;
  made->creation_index = std::atomic_ref(parent.next_creation).fetch_add(1, std::memory_order_relaxed);
  made->comm.uid = Mix(parent.uid, made->creation_index);
}

}  // namespace

uint64_t HashOf(const UniqueId& id) noexcept {
  uint64_t h = 0, words[sizeof(id) / 8];
  memcpy(words, id.bytes, sizeof(words));
  for (uint64_t word : words) h = Mix(h, word);
  return h;
}

void DescribeInit(ThreadState& t, int32_t ranks, int32_t rank, const UniqueId* ids, uint32_t id_count,
                  const void* config, NewComm* made) noexcept {
  Begin(made, config);
  uint64_t h = 0;
  for (uint32_t i = 0; i < id_count; ++i) h = i == 0 ? HashOf(ids[0]) : Mix(h, HashOf(ids[i]));
  made->ids = ids;
  made->id_count = id_count;
  made->id_use = UseOf(h, rank);
  made->comm.uid = Mix(h, made->id_use);
  made->comm.size = static_cast<uint32_t>(ranks);
  made->comm.rank = rank;
  Write(t, *made);
}

void DescribeInitAll(ThreadState& t, uint64_t uid, int32_t ranks, int32_t rank, int32_t device,
                     NewComm* made) noexcept {
  Begin(made, nullptr);
  made->kind = "nccl_all";
  made->comm.uid = uid;
  made->comm.size = static_cast<uint32_t>(ranks);
  made->comm.rank = rank;
  made->comm.device = device;
  Write(t, *made);
}

void DescribeSplit(ThreadState& t, Comm& parent, int32_t color, int32_t key, const void* config,
                   NewComm* made) noexcept {
  Begin(made, config);
  if (!config) made->comm.blocking = parent.blocking;
  BeginChild(parent, made, "split");
  made->comm.uid = Mix(made->comm.uid, static_cast<uint32_t>(color));
  made->comm.device = parent.device;
  made->color = color;
  made->key = key;
  if (color != kSplitNoColor) Write(t, *made);
}

void DescribeShrink(ThreadState& t, Comm& parent, const int32_t* excluded, int32_t count, const void* config,
                    NewComm* made) noexcept {
  Begin(made, config);
  if (!config) made->comm.blocking = parent.blocking;
  made->kind = "shrink";
  made->parent = parent.id;
  made->parent_uid = parent.uid;
  // A wrong number is NCCL's to refuse, before it reads that many.
  if (!excluded || count < 0 || static_cast<uint32_t>(count) >= parent.size) count = 0;
  std::vector<int32_t> ranks(excluded, excluded + count);
  std::sort(ranks.begin(), ranks.end());
  // Not counted among the parent's creations: those left out do not call, and count splits alone.
  uint64_t h = Mix(parent.uid, ranks.size());
  for (int32_t rank : ranks) h = Mix(h, static_cast<uint32_t>(rank));
  made->creation_index = UseOf(h, parent.rank);
  made->comm.uid = Mix(h, made->creation_index);
  made->comm.size = parent.size > ranks.size() ? parent.size - static_cast<uint32_t>(ranks.size()) : 0;
  made->comm.device = parent.device;
  made->excluded = excluded;
  made->excluded_count = static_cast<uint32_t>(ranks.size());
  Write(t, *made);
}

void DescribeGrow(ThreadState& t, Comm& parent, int32_t ranks, const UniqueId* id, const void* config,
                  NewComm* made) noexcept {
  Begin(made, config);
  BeginChild(parent, made, "grow");
  made->ids = id;
  made->id_count = id ? 1 : 0;
  made->comm.size = static_cast<uint32_t>(ranks);
  made->comm.rank = parent.rank;
  made->comm.device = parent.device;
  Write(t, *made);
}

void AddCommunicator(ThreadState&, Word handle, const NewComm& made) noexcept {
  uint64_t key = static_cast<uint64_t>(handle);
  g_tables->comms.Remove(key);
  g_tables->comms.Insert(key, made.comm);
}

void DropCommunicator(ThreadState& t, uint32_t id) noexcept {
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer freed(definition, 6);
    freed.add_uint32(1, id);
  }
  PushDefinition(t, bytes);
}

void Complete(ThreadState& t, Word handle, Comm& comm) noexcept {
  if (comm.described || !comm.copy) return;
  int32_t size = 0;
  if (!AskCount(*comm.copy, handle, &size) || !AskRank(*comm.copy, handle, &comm.rank)) return;
  comm.size = static_cast<uint32_t>(size);
  AskDevice(*comm.copy, handle, &comm.device);
  comm.described = 1;
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer c(definition, 2);
    c.add_uint32(1, comm.id);  // no uid: adds to what was said before
    c.add_uint32(6, comm.size);
    c.add_sint32(7, comm.rank);
    c.add_string(14, "NCCL");
    PutDevice(c, comm.device);
  }
  PushDefinition(t, bytes);
}

uint64_t UidOfOwn() noexcept { return Mix(static_cast<uint64_t>(getpid()), Now()); }

}  // namespace ddbg::shim::nccl
