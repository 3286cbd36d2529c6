#include "analyzer/load/worlds.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/load/comm_sides.h"
#include "analyzer/load/told.h"
#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {
namespace {

// A world of a damaged file is not believed: ranks are dense.
constexpr int32_t kMostRanks = 1 << 24;

class Joiner {
 public:
  explicit Joiner(Run* run) : run_(*run) {}

  void Join() {
    NumberTheRest();
    PlaceWorlds();
    if (!run_.spawned.empty()) {
      for (Process& process : run_.processes) Place(&process);
      LinkSpawns();
    }
    JoinSides(&run_);
  }

 private:
  // Where the launcher does not number worlds (MPICH): processes in the order they were started, a new world where a
  // rank comes again or says another size.
  void NumberTheRest() {
    int32_t last = 0;
    std::vector<Process*> rest;
    for (Process& process : run_.processes) {
      last = std::max(last, process.world);
      if (process.spawned && process.world < 0 && process.rank() >= 0) rest.push_back(&process);
    }
    std::sort(rest.begin(), rest.end(), [](const Process* a, const Process* b) {
      return std::tuple(a->start_realtime_ns, a->rank()) < std::tuple(b->start_realtime_ns, b->rank());
    });
    std::vector<bool> seen;
    for (Process* process : rest) {
      KeepTold(process);
      auto size = static_cast<size_t>(std::clamp(process->world_size(), process->rank() + 1, kMostRanks));
      auto rank = static_cast<size_t>(process->rank());
      if (seen.size() != size || seen[rank]) ++last, seen.assign(size, false);
      seen[rank] = true;
      process->world = last;
    }
  }

  void PlaceWorlds() {
    std::map<int32_t, int32_t> sizes;
    for (const Process& process : run_.processes)
      if (process.world >= 0 && process.rank() >= 0)
        sizes[process.world] =
            std::max(sizes[process.world], std::clamp(process.world_size(), process.rank() + 1, kMostRanks));
    run_.spawned.clear();
    if (sizes.empty() || sizes.rbegin()->first == 0) return;
    int64_t first = 0;
    for (const auto& [world, size] : sizes) {
      if (first + size > kMostRanks) return;
      if (world > 0) run_.spawned.push_back({world, static_cast<int32_t>(first), size});
      first += size;
    }
    ranks_ = static_cast<int32_t>(first);
  }

  const SpawnedWorld* Spawned(int32_t world) const {
    for (const SpawnedWorld& spawned : run_.spawned)
      if (spawned.world == world) return &spawned;
    return nullptr;
  }

  void Place(Process* process) {
    const SpawnedWorld* world = Spawned(process->world);
    KeepTold(process);
    int32_t first = world ? world->first : 0;
    for (int32_t* rank : {&process->mpi_rank, &process->launcher_rank})
      if (*rank >= 0) *rank += first;
    for (int32_t* size : {&process->mpi_size, &process->launcher_world_size})
      if (*size >= 0) *size = ranks_;
    if (!world) return;
    for (auto& [id, comm] : process->comms) {
      if (!IsOfMpi(comm)) continue;
      KeepTold(process, comm);
      for (int32_t& member : comm.members)
        if (member >= 0) member += first;
      if (comm.uid) comm.uid = Mixed(comm.uid, static_cast<uint64_t>(world->world));
      if (comm.parent_uid) comm.parent_uid = Mixed(comm.parent_uid, static_cast<uint64_t>(world->world));
      if (comm.kind == "world" && comm.name == "MPI_COMM_WORLD")
        comm.name = fmt::format("MPI_COMM_WORLD of spawn {}", world->world);
    }
  }

  // The n-th world that names a root is of the n-th spawn that this root has made, where there are as many of either.
  void LinkSpawns() {
    std::map<std::pair<int32_t, int32_t>, std::vector<SpawnedWorld*>> by_root;
    for (SpawnedWorld& world : run_.spawned) {
      const Process* child = AnyOf(world.world);
      if (child) by_root[{child->parent_world, child->parent_rank}].push_back(&world);
    }
    for (auto& [place, worlds] : by_root) {
      size_t root = Root(place.first, place.second);
      if (root == SIZE_MAX) continue;
      std::vector<size_t> calls = SpawnsBy(run_.processes[root]);
      for (size_t i = 0; i < worlds.size() && calls.size() == worlds.size(); ++i) {
        worlds[i]->root = run_.processes[root].rank(), worlds[i]->call = calls[i];
        Link(run_.processes[root], *worlds[i]);
      }
    }
  }

  const Process* AnyOf(int32_t world) const {
    for (const Process& process : run_.processes)
      if (process.world == world && process.rank() >= 0) return &process;
    return nullptr;
  }

  // Of a world whose root is not told: whoever has spawned at all, if it was one process.
  size_t Root(int32_t world, int32_t rank) const {
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < run_.processes.size(); ++i) {
      const Process& process = run_.processes[i];
      const Told& told = *process.told;
      int32_t own = told.mpi_rank >= 0 ? told.mpi_rank : told.launcher_rank;
      bool is_root = world < 0 ? !SpawnsBy(process).empty() : process.world == world && own == rank;
      if (!is_root) continue;
      if (found != SIZE_MAX) return SIZE_MAX;
      found = i;
    }
    return found;
  }

  // As root, and none that failed.
  static std::vector<size_t> SpawnsBy(const Process& process) {
    std::vector<size_t> calls;
    for (size_t i = 0; i < process.calls.size(); ++i) {
      const Call& call = process.calls[i];
      if (!call.known() || call.info().kind != CallKind::Spawn || !Accepted(call)) continue;
      auto comm = process.comms.find(call.comm);
      if (comm != process.comms.end() && comm->second.rank == call.peer) calls.push_back(i);
    }
    return calls;
  }

  // What the children got from MPI_Comm_get_parent is what the parents got from the spawn.
  void Link(const Process& root, const SpawnedWorld& world) {
    auto made = root.comms.find(static_cast<uint32_t>(root.calls[world.call].aux));
    if (root.calls[world.call].open() || made == root.comms.end()) return;
    uint64_t uid = made->second.uid;
    for (Process& process : run_.processes) {
      uint64_t own = 0;
      for (const auto& [id, comm] : process.comms)
        if (process.world == world.world ? comm.kind == "parent" : comm.uid == uid) own = comm.uid;
      if (own) Rename(&process, own, uid);
    }
  }

  // One uid on both sides, for it and for all that was made from it, where members are not known to all.
  void Rename(Process* process, uint64_t own, uint64_t uid) {
    std::vector<Communicator*> comms;
    for (auto& [id, comm] : process->comms)
      if (IsOfMpi(comm)) comms.push_back(&comm);
    std::sort(comms.begin(), comms.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
    std::map<uint64_t, uint64_t> now{{own, uid}};
    for (Communicator* comm : comms) {
      auto parent = now.find(comm->parent_uid);
      if (comm->uid != own && parent == now.end()) continue;
      KeepTold(process, *comm);
      if (comm->uid == own) {
        comm->uid = uid;
        continue;
      }
      uint64_t h = Mixed(parent->second, std::hash<std::string>{}(comm->kind));
      h = Mixed(h, comm->creation_index);
      if (comm->kind.starts_with("split")) h = Mixed(h, static_cast<uint32_t>(comm->color));
      now[comm->uid] = h;
      comm->parent_uid = parent->second;
      comm->uid = h;
    }
  }

  static bool IsOfMpi(const Communicator& comm) { return !comm.nccl && !comm.kind.starts_with("gloo"); }

  static uint64_t Mixed(uint64_t a, uint64_t b) {
    uint64_t h = (a ^ (b + 0x9e3779b97f4a7c15)) * 0xff51afd7ed558ccd;
    h = (h ^ (h >> 32)) * 0xc4ceb9fe1a85ec53;
    return h ^ (h >> 29);
  }

  Run& run_;
  int32_t ranks_ = 0;
};

}  // namespace

void JoinWorlds(Run* run) { Joiner(run).Join(); }

void PartWorlds(Run* run) {
  for (Process& process : run->processes) {
    if (!process.told) continue;
    process.mpi_rank = process.told->mpi_rank, process.mpi_size = process.told->mpi_size;
    process.launcher_rank = process.told->launcher_rank;
    process.launcher_world_size = process.told->launcher_world_size;
    process.world = process.told->world;
    for (auto& [id, comm] : process.told->comms) process.comms[id] = std::move(comm);
    process.told.reset();
  }
}

}  // namespace ddbg::analyzer
