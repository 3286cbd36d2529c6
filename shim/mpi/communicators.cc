#include "shim/mpi/communicators.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "shim/interpose/mix.h"
#include "shim/recorder/ids.h"

namespace ddbg::shim::mpi {
namespace {

constexpr uint64_t kWorldUid = 0x574f524c44000001;  // any constant: the same in every process

uint64_t MixText(uint64_t h, const char* text) {
  for (; *text; ++text) h = Mix(h, static_cast<unsigned char>(*text));
  return h;
}

// World ranks of a group's members, in its order. Empty if MPI would not say.
std::vector<int32_t> WorldRanks(Word group) {
  std::vector<int32_t> ranks;
  int size = 0;
  Word world = g_tables->world_group;
  if (!world || !g_mpi.Group_translate_ranks || g_mpi.Group_size(group, Address(&size)) || size <= 0) return ranks;
  std::vector<int32_t> own(size);
  for (int i = 0; i < size; ++i) own[i] = i;
  ranks.resize(size);
  if (g_mpi.Group_translate_ranks(group, size, Address(own.data()), world, Address(ranks.data()))) ranks.clear();
  return ranks;
}

std::vector<int32_t> MembersOf(Word comm, Word (*group_of)(Word, Word)) {
  Word group = 0;
  if (!group_of || group_of(comm, Address(&group))) return {};
  group = g_abi.ReadHandle(&group);
  std::vector<int32_t> members = WorldRanks(group);
  g_mpi.Group_free(Address(&group));
  return members;
}

// As runs of equal stride: first (delta to the end of the run before), length, stride. 1,024 ranks in order: 3 numbers.
std::vector<int32_t> Runs(const std::vector<int32_t>& members) {
  std::vector<int32_t> runs;
  int32_t previous = 0;
  for (size_t i = 0; i < members.size();) {
    size_t length = 1;
    int32_t stride = 0;
    if (i + 1 < members.size()) {
      stride = members[i + 1] - members[i];
      for (length = 2; i + length < members.size() && members[i + length] - members[i + length - 1] == stride;)
        ++length;
    }
    runs.insert(runs.end(), {members[i] - previous, static_cast<int32_t>(length), stride});
    previous = members[i + length - 1];
    i += length;
  }
  return runs;
}

uint64_t HashOfSet(std::vector<int32_t> members) {
  std::sort(members.begin(), members.end());
  uint64_t h = members.size();
  for (int32_t member : members) h = Mix(h, static_cast<uint32_t>(member));
  return h;
}

struct Description {
  Comm comm = {};
  std::vector<int32_t> members;
  uint32_t remote_size = 0;
  bool inter = false;
  std::string name;
};

std::string NameOf(Word handle) {
  char name[256] = "";
  int length = 0;
  if (!g_mpi.Comm_get_name || g_mpi.Comm_get_name(handle, Address(name), Address(&length))) return "";
  return name;
}

void Write(ThreadState& t, const Description& d, const Creation& creation) {
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer comm(definition, 2);
    comm.add_uint32(1, d.comm.id);
    comm.add_fixed64(2, d.comm.uid);
    comm.add_uint32(3, creation.parent ? creation.parent->id : 0);
    comm.add_uint32(4, creation.index);
    comm.add_string(5, creation.kind);
    comm.add_uint32(6, d.comm.size);
    comm.add_sint32(7, d.comm.rank);
    comm.add_uint32(8, d.remote_size);
    comm.add_sint32(9, creation.color);
    comm.add_sint32(10, creation.key);
    std::vector<int32_t> runs = Runs(d.members);
    // A ring has no room for a million irregular ranks; the uid still tells whether they agree.
    if (runs.size() < 60000) comm.add_packed_sint32(11, runs.begin(), runs.end());
    comm.add_string(12, d.name);
    comm.add_fixed64(13, creation.parent ? creation.parent->uid : 0);
  }
  PushDefinition(t, bytes);
}

// The same groups may be made into communicators again and again, with nothing collective over the parent to count by.
uint64_t CountedUid(uint64_t uid) {
  Comm* counter = g_tables->comms.Find(uid | 1);
  if (!counter) counter = g_tables->comms.Insert(uid | 1, Comm{});
  if (!counter) return uid;
  return Mix(uid, std::atomic_ref(counter->next_creation).fetch_add(1, std::memory_order_relaxed));
}

bool IsInter(Word handle) {
  int inter = 0;
  if (g_mpi.Comm_test_inter) g_mpi.Comm_test_inter(handle, Address(&inter));
  return inter;
}

// Both sides of an inter-communicator must come to one uid: the two groups are mixed in without order.
uint64_t Uid(Word handle, const Creation& creation, Description* d) {
  uint64_t parent = creation.parent ? creation.parent->uid : 0;
  uint64_t h = MixText(Mix(parent, creation.by_group ? 0 : creation.index), creation.kind);
  Word probe = creation.same_members ? creation.parent_handle : handle;
  h = MixText(h, creation.text);
  d->inter = IsInter(probe);
  if (!d->inter) return Mix(Mix(h, HashOfSet(d->members)), creation.by_group ? static_cast<uint32_t>(creation.tag) : 0);
  std::vector<int32_t> remote = MembersOf(probe, g_mpi.Comm_remote_group);
  d->remote_size = static_cast<uint32_t>(remote.size());
  uint64_t sum = HashOfSet(d->members) + HashOfSet(remote);
  // Made of another one, it has that in common, and one that joins another world is known by this side alone; of a new
  // one the two sides have local parents that differ.
  bool by_parent = creation.foreign || (creation.parent && IsInter(creation.parent_handle));
  uint64_t index = by_parent ? parent + creation.index : 0;
  uint64_t uid =
      MixText(MixText(Mix(Mix(sum, static_cast<uint32_t>(creation.tag)), index), creation.kind), creation.text);
  return by_parent ? uid : CountedUid(uid);
}

void Register(ThreadState& t, Word handle, Description* d, const Creation& creation) {
  d->comm.id = NextId(IdKind::kCommunicator);
  d->comm.entries = d->inter ? 0 : d->comm.size;
  uint64_t key = static_cast<uint64_t>(handle);
  g_tables->comms.Remove(key);
  g_tables->comms.Insert(key, d->comm);
  Write(t, *d, creation);
}

void AddPredefined(ThreadState& t, Word handle, const char* kind, uint64_t uid, const char* name) {
  Description d;
  int size = 0, rank = -1;
  g_mpi.Comm_size(handle, Address(&size));
  g_mpi.Comm_rank(handle, Address(&rank));
  d.comm.uid = uid;
  d.comm.size = size;
  d.comm.rank = rank;
  d.members = MembersOf(handle, g_mpi.Comm_group);
  d.name = name;
  Creation creation;
  creation.kind = kind;
  Register(t, handle, &d, creation);
}

uint32_t DefineGroup(ThreadState& t, std::vector<int32_t> members, const Comm* parent) {
  Description d;
  d.members = std::move(members);
  if (d.members.empty()) return 0;
  d.comm.id = NextId(IdKind::kCommunicator);
  d.comm.size = static_cast<uint32_t>(d.members.size());
  d.comm.rank = -1;
  Creation creation;
  creation.parent = parent;
  creation.kind = "group";
  Write(t, d, creation);
  return d.comm.id;
}

// No handle has the highest bit: they are addresses of the process or 32-bit numbers.
uint64_t KeyOfMembers(const std::vector<int32_t>& members) {
  uint64_t h = members.size();
  for (int32_t member : members) h = Mix(h, static_cast<uint32_t>(member));
  return (h | uint64_t{1} << 63) & ~uint64_t{1};
}

}  // namespace

void FindWorldGroup(Word session) noexcept {
  Word group = 0;
  bool found = false;
  if (session)
    found = g_mpi.Group_from_session_pset &&
            g_mpi.Group_from_session_pset(session, Address("mpi://WORLD"), Address(&group)) == 0;
  else
    found = g_mpi.Comm_group && g_mpi.Comm_group(g_abi.comm_world, Address(&group)) == 0;
  g_tables->world_group = found ? g_abi.ReadHandle(&group) : 0;
  g_tables->group_session = session;
}

void ReleaseWorldGroup() noexcept {
  Word group = g_tables->world_group;
  g_tables->world_group = g_tables->group_session = 0;
  if (group) g_mpi.Group_free(Address(&group));
}

void AddWorldAndSelf(ThreadState& t) noexcept {
  // A world after MPI_Finalize is another one, whose collectives are counted from 0 again.
  uint64_t uid = g_tables->world == 0 ? kWorldUid : Mix(kWorldUid + 1, g_tables->world);
  AddPredefined(t, g_abi.comm_world, "world", uid, "MPI_COMM_WORLD");
  int rank = 0;
  g_mpi.Comm_rank(g_abi.comm_world, Address(&rank));
  AddPredefined(t, g_abi.comm_self, "self", Mix(uid, static_cast<uint32_t>(rank)), "MPI_COMM_SELF");
}

void AddCommunicator(ThreadState& t, Word handle, const Creation& creation) noexcept {
  Description d;
  if (creation.same_members) {
    d.members = MembersOf(creation.parent_handle, g_mpi.Comm_group);
    if (creation.parent) d.comm.size = creation.parent->size, d.comm.rank = creation.parent->rank;
  } else {
    int size = 0, rank = -1;
    if (g_mpi.Comm_size(handle, Address(&size)) || g_mpi.Comm_rank(handle, Address(&rank))) return;
    d.comm.size = size;
    d.comm.rank = rank;
    d.members = MembersOf(handle, g_mpi.Comm_group);
    d.name = NameOf(handle);
    if (*creation.text) d.name = std::string(creation.text, strnlen(creation.text, 255));
  }
  d.comm.uid = Uid(handle, creation, &d);
  if (creation.by_group) d.comm.uid = CountedUid(d.comm.uid);
  Register(t, handle, &d, creation);
}

uint32_t AddShared(ThreadState& t, Word handle, const Creation& creation, const char* name) noexcept {
  Description d;
  int size = 0, rank = -1;
  if (g_mpi.Comm_size(creation.parent_handle, Address(&size)) ||
      g_mpi.Comm_rank(creation.parent_handle, Address(&rank)))
    return 0;
  d.comm.size = size;
  d.comm.rank = rank;
  d.members = MembersOf(creation.parent_handle, g_mpi.Comm_group);
  d.name = std::string(name, strnlen(name, 255));
  uint64_t parent = creation.parent ? creation.parent->uid : 0;
  uint64_t members = HashOfSet(d.members);
  d.inter = IsInter(creation.parent_handle);
  if (d.inter) {  // a persistent collective: both sides come to one uid
    std::vector<int32_t> remote = MembersOf(creation.parent_handle, g_mpi.Comm_remote_group);
    d.remote_size = static_cast<uint32_t>(remote.size());
    members += HashOfSet(remote);
  }
  d.comm.uid = Mix(MixText(Mix(parent, creation.index), creation.kind), members);
  Register(t, handle, &d, creation);
  return d.comm.id;
}

uint32_t AddGroup(ThreadState& t, Word group, const Comm* parent) noexcept {
  return DefineGroup(t, WorldRanks(group), parent);
}

uint32_t GroupId(ThreadState& t, Word group, const Comm* parent) noexcept {
  uint64_t handle = static_cast<uint64_t>(group);
  if (handle == 0) return 0;
  if (const uint32_t* known = g_tables->groups.Find(handle)) return *known;
  std::vector<int32_t> members = WorldRanks(group);
  if (members.empty()) return 0;
  // A program may make the same group for each epoch anew.
  uint64_t key = KeyOfMembers(members);
  const uint32_t* same = g_tables->groups.Find(key);
  uint32_t id = same ? *same : DefineGroup(t, std::move(members), parent);
  if (!same) g_tables->groups.Insert(key, id);
  g_tables->groups.Insert(handle, id);
  return id;
}

void ForgetGroup(Word group) noexcept {
  uint64_t handle = static_cast<uint64_t>(group);
  // Two threads that named it first at one moment have entered it twice.
  while (handle != 0 && g_tables->groups.Find(handle)) g_tables->groups.Remove(handle);
}

void RemoveCommunicator(ThreadState& t, Word handle) noexcept {
  Comm* comm = g_tables->comms.Find(static_cast<uint64_t>(handle));
  if (!comm) return;
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer freed(definition, 6);
    freed.add_uint32(1, comm->id);
  }
  g_tables->comms.Remove(static_cast<uint64_t>(handle));
  PushDefinition(t, bytes);
}

void NameCommunicator(ThreadState& t, Word handle, const char* name) noexcept {
  Comm* comm = g_tables->comms.Find(static_cast<uint64_t>(handle));
  if (!comm || !name) return;
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer named(definition, 2);
    named.add_uint32(1, comm->id);
    named.add_string(12, std::string(name, strnlen(name, 255)));
  }
  PushDefinition(t, bytes);
}

}  // namespace ddbg::shim::mpi
