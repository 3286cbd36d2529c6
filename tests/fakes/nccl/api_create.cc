// Entry points that make communicators.
#include <string.h>

#include <algorithm>

#include "tests/fakes/core/device.h"
#include "tests/fakes/core/settings.h"
#include "tests/fakes/nccl/abi.h"
#include "tests/fakes/nccl/create.h"
#include "tests/fakes/nccl/faults.h"
#include "tests/fakes/nccl/group.h"

namespace nullnccl {
namespace {

// Whether the caller wants calls to wait; what it left open is inherited.
Result ReadBlocking(const Config* config, bool otherwise, bool* blocking) {
  *blocking = otherwise;
  if (!config) return kSuccess;
  if (config->magic != kConfigMagic) {
    return FailInGroup(kInvalidArgument, "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
  }
  if (config->size >= offsetof(Config, blocking) + sizeof(int) && config->blocking != kUndefinedInt) {
    *blocking = config->blocking != 0;
  }
  return kSuccess;
}

// A blocking call that fails outside a group leaves no communicator behind.
Result Create(Comm comm, ncclComm** out, std::function<Result()> run) {
  *out = comm.get();
  Result result = SubmitJob({comm, comm->blocking, std::move(run)});
  if (result != kSuccess && result != kInProgress) {
    Forget(comm.get());
    *out = nullptr;
  }
  return result;
}

Result InitRank(const char* call, ncclComm** out, int ranks, const UniqueId* ids, int id_count, int rank,
                const Config* config) {
  bool blocking;
  if (!out) return FailInGroup(kInvalidArgument, "newcomm is NULL");
  if (Result error = ReadBlocking(config, true, &blocking)) return error;
  if (id_count < 1 || !ids || !IsUniqueId(ids[0])) return FailInGroup(kInvalidArgument, "no id of ncclGetUniqueId");
  if (ranks < 1 || rank < 0 || rank >= ranks) return FailInGroup(kInvalidArgument, "invalid rank or number of ranks");
  if (id_count > ranks) return FailInGroup(kInvalidArgument, "more ids than ranks");
  if (ranks > kMaxRanks) return FailInGroup(kInvalidUsage, "the double has 16 ranks at most");
  Comm comm = MakeComm();
  comm->id = NameOf(ids, id_count);
  comm->ranks = ranks;
  comm->rank = rank;
  comm->device = nullgpu::CurrentDevice();
  comm->blocking = blocking;
  comm->lineage = std::make_shared<Lineage>();
  comm->lineage->rank = rank;
  nullgpu::Trace("%s rank=%d ranks=%d id=%s blocking=%d", call, rank, ranks, comm->id.c_str(), blocking);
  return Create(comm, out, [raw = comm.get()]() -> Result {
    const RankFault& fault = GetFaults().init_error;
    if (raw->rank == fault.rank) return Fail(static_cast<Result>(fault.value), "NULLNCCL_INIT_ERROR");
    return Join(*raw);
  });
}

// A communicator made from another one, of which its place is not known yet.
Comm MakeChild(const ncclComm& parent, bool blocking) {
  Comm comm = MakeComm();
  comm->device = parent.device;
  comm->blocking = blocking;
  comm->lineage = parent.lineage;
  return comm;
}

// The ranks that stay meet by a name that all of them make of the same list; those excluded do not call.
Result Shrink(const Comm& parent, std::vector<int> excluded, ncclComm** out, bool blocking) {
  std::sort(excluded.begin(), excluded.end());
  Comm comm = MakeChild(*parent, blocking);
  comm->id = parent->id + "-k" + std::to_string(++parent->shrinks);
  for (int rank : excluded) comm->id.append("x").append(std::to_string(rank));
  comm->ranks = parent->ranks - static_cast<int>(excluded.size());
  comm->rank = parent->rank -
               static_cast<int>(std::lower_bound(excluded.begin(), excluded.end(), parent->rank) - excluded.begin());
  return Create(comm, out, [raw = comm.get()] { return Join(*raw); });
}

// The id reaches the parent's other ranks through the parent.
Result GrowParent(const Comm& parent, int ranks, const UniqueId* id, ncclComm** out, bool blocking) {
  Comm comm = MakeChild(*parent, blocking);
  comm->ranks = ranks;
  comm->rank = parent->rank;
  uint64_t number = ++parent->grows;
  std::string name = id ? NameOf(id, 1) : "";
  return Create(comm, out, [raw = comm.get(), parent, number, name]() -> Result {
    raw->id = name;
    if (raw->id.empty()) {
      if (!parent->WaitFor([&] { return parent->segment->grow_ids >= number; }, false)) return kInternalError;
      raw->id = NameOf(&parent->segment->grow_id, 1);
    }
    return Join(*raw);
  });
}

}  // namespace
}  // namespace nullnccl

using namespace nullnccl;

NCCL_API(int, ncclGetUniqueId, UniqueId* id) {
  if (!id) return Fail(kInvalidArgument, "uniqueId is NULL");
  *id = MakeUniqueId();
  nullgpu::Trace("ncclGetUniqueId %s", id->bytes);
  return kSuccess;
}

NCCL_API(int, ncclCommInitRank, ncclComm** comm, int ranks, UniqueId id, int rank) {
  return InitRank("ncclCommInitRank", comm, ranks, &id, 1, rank, nullptr);
}

NCCL_API(int, ncclCommInitRankConfig, ncclComm** comm, int ranks, UniqueId id, int rank, Config* config) {
  return InitRank("ncclCommInitRankConfig", comm, ranks, &id, 1, rank, config);
}

NCCL_API(int, ncclCommInitRankScalable, ncclComm** comm, int ranks, int rank, int id_count, UniqueId* ids,
         Config* config) {
  return InitRank("ncclCommInitRankScalable", comm, ranks, ids, id_count, rank, config);
}

NCCL_API(int, ncclCommInitAll, ncclComm** comms, int count, const int* devices) {
  if (!comms || count < 1) return Fail(kInvalidArgument, "comms is NULL or there are no devices");
  UniqueId id;
  ncclGetUniqueId(&id);  // through the PLT, as the real one
  int current = nullgpu::CurrentDevice();
  Result result = kSuccess;
  GroupEnter();
  for (int i = 0; i < count && !result; ++i) {
    if (nullgpu::SetCurrentDevice(devices ? devices[i] : i))
      result = FailInGroup(kUnhandledCudaError, "no such device");
    if (!result) result = InitRank("ncclCommInitAll", &comms[i], count, &id, 1, i, nullptr);
  }
  nullgpu::SetCurrentDevice(current);
  Result ended = GroupLeave();
  return result ? result : ended;
}

NCCL_API(int, ncclCommSplit, ncclComm* handle, int color, int key, ncclComm** out, Config* config) {
  Comm parent;
  bool blocking;
  if (Result error = EnsureReady(handle, &parent, true)) return FailInGroup(error, LastMessage());
  if (!out) return FailInGroup(kInvalidArgument, "newcomm is NULL");
  if (color < kNoColor) return FailInGroup(kInvalidArgument, "color must be greater or equal to -1");
  if (Result error = ReadBlocking(config, parent->blocking, &blocking)) return error;
  nullgpu::Trace("ncclCommSplit comm=%p color=%d key=%d", static_cast<void*>(handle), color, key);
  Comm comm = MakeChild(*parent, blocking);
  uint64_t step = ++parent->host_step;
  Result result = Create(
      comm, out, [raw = comm.get(), parent, step, color, key] { return Split(*parent, step, color, key, *raw); });
  if (color == kNoColor) {
    *out = nullptr;
    Forget(comm.get());
  }
  return result;
}

NCCL_API(int, ncclCommShrink, ncclComm* handle, int* excluded, int excluded_count, ncclComm** out, Config* config,
         int flags) {
  Comm parent;
  bool blocking;
  bool abort = flags & 1;  // NCCL_SHRINK_ABORT
  Result ready = EnsureReady(handle, &parent, true);
  if (ready && !(abort && parent && ready == kRemoteError)) return FailInGroup(ready, LastMessage());
  if (!out || !excluded || excluded_count < 1 || excluded_count >= parent->ranks) {
    return FailInGroup(kInvalidArgument, "invalid list of ranks to exclude");
  }
  for (int i = 0; i < excluded_count; ++i) {
    if (excluded[i] < 0 || excluded[i] >= parent->ranks)
      return FailInGroup(kInvalidArgument, "no such rank to exclude");
    if (excluded[i] == parent->rank)
      return FailInGroup(kInvalidArgument, "an excluded rank must not call ncclCommShrink");
  }
  if (Result error = ReadBlocking(config, parent->blocking, &blocking)) return error;
  if (abort) StopDeviceWork(*parent);
  return Shrink(parent, std::vector<int>(excluded, excluded + excluded_count), out, blocking);
}

NCCL_API(int, ncclCommGetUniqueId, ncclComm* handle, UniqueId* id) {
  Comm parent;
  if (Result error = EnsureReady(handle, &parent)) return error;
  if (!id) return Fail(kInvalidArgument, "uniqueId is NULL");
  *id = MakeUniqueId();
  parent->segment->grow_id = *id;
  ++parent->segment->grow_ids;
  return kSuccess;
}

NCCL_API(int, ncclCommGrow, ncclComm* handle, int ranks, const UniqueId* id, int rank, ncclComm** out, Config* config) {
  if (!handle) return InitRank("ncclCommGrow", out, ranks, id, id ? 1 : 0, rank, config);
  Comm parent;
  bool blocking;
  if (Result error = EnsureReady(handle, &parent)) return FailInGroup(error, LastMessage());
  if (!out || rank != -1 || ranks <= parent->ranks || ranks > kMaxRanks) {
    return FailInGroup(kInvalidArgument, "a rank of the parent grows with rank -1, to more ranks");
  }
  if (Result error = ReadBlocking(config, parent->blocking, &blocking)) return error;
  return GrowParent(parent, ranks, id, out, blocking);
}
