// What the analyzer knows of a run after loading: processes, their calls in order, and what their ids mean.
// Filled by load, read by everything else. Times are ns CLOCK_MONOTONIC of the process's host. Plain data, one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/model/samples.h"
#include "proto/call_table.h"

namespace ddbg::analyzer {

inline constexpr int64_t kNeverReturned = -1;
// Of a name this build does not know (kUnknownCall) aux is its index in Process::call_names.

// One call, or one half of a Sendrecv, or a completion or loss record (see ring_layout.h for the fields).
struct Call {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;  // kNeverReturned: still open when last seen
  uint64_t count = 0;
  uint64_t aux = 0;
  uint32_t comm = 0;
  uint32_t seq = 0;
  uint32_t dtype = 0;
  int32_t peer = kNoPeer;
  int32_t tag = 0;
  uint32_t stack = 0;
  int32_t result = 0;
  uint32_t thread = 0;  // slot index
  uint16_t call = 0;    // kCallLost, kCallCompletion, or kFirstCall + index into kCalls of THIS build, or kUnknownCall
  uint8_t op = 0;
  uint8_t flags = 0;

  bool open() const { return duration_ns == kNeverReturned; }
  bool known() const { return call >= kFirstCall && call != kUnknownCall; }
  const CallInfo& info() const { return kCalls[call - kFirstCall]; }  // only if known()
};

struct KeyValue {
  std::string key, value;
};

struct Communicator {
  uint32_t id = 0;
  uint64_t uid = 0;
  uint64_t parent_uid = 0;
  uint32_t parent = 0;
  uint32_t creation_index = 0;
  std::string kind;
  std::string name;  // "MPI_COMM_WORLD" or as the program named it; "" if neither
  uint32_t size = 0;
  int32_t rank = -1;
  uint32_t remote_size = 0;
  std::vector<int32_t> members;  // world ranks, by rank in this communicator; empty if unknown, as of NCCL always
  // Of an inter-communicator both of whose sides are known: the members of one after those of the other, `rank` among
  // them, and this is what a peer's number lacks to be one of these. −1: the other side is not known.
  int32_t peer_base = -1;
  int32_t color = 0, key = 0;  // of a split
  bool freed = false;
  // NCCL
  bool nccl = false;
  bool blocking = true;   // calls on it wait
  int32_t device = -1;    // CUDA ordinal; -1: not known
  std::string device_id;  // PCI bus id; "" if not known
  std::vector<uint64_t> id_hash;
  uint32_t id_use = 0;
  std::vector<int32_t> excluded;
  std::vector<KeyValue> config;
};

// A CUDA stream; Call::tag of NCCL's and CUDA's calls is its id.
struct Stream {
  uint64_t handle = 0;
  int32_t device = -1;  // ordinal; -1: not known
  std::string kind;     // "legacy", "per-thread", "created", "unknown"
  uint32_t flags = 0;   // 1: does not wait for the legacy stream
  int32_t priority = 0;
  uint32_t tid = 0;

  bool blocking() const { return kind == "created" && (flags & 1) == 0; }
};

struct Device {
  int32_t ordinal = -1;
  std::string bus_id, uuid, name;  // uuid: raw bytes
};

// What of an API was recorded at all.
struct Level {
  std::string name;
  bool on = false;
  std::string why;
};

struct Library {
  std::string api, abi, version, path;
};

struct Datatype {
  std::string name;
  uint64_t size = 0;
  std::string base;
  uint64_t elements = 0;
  uint64_t signature = 0;
};

struct Module {
  std::string path;
  uint64_t bias = 0, start = 0, end = 0;
  std::string build_id;  // raw bytes
};

// A function of a Python program.
struct PythonCode {
  std::string name;  // qualified since 3.11
  std::string file;
  int first_line = 0;
};

// One frame of the CPython interpreter.
struct PythonFrame {
  uint32_t code = 0;  // id of a PythonCode
  int line = 0;
  bool called_from_c = false;  // the outermost of one evaluation
};

// What an open Wait* or Test* is waiting for.
struct OpenDetail {
  std::vector<uint64_t> requests;  // operation numbers, the first few
  uint32_t request_count = 0;
};

// Both clocks of the host at one instant, as its collector read them.
struct WallReading {
  int64_t monotonic_ns = 0, realtime_ns = 0;
};

struct ProcessEnd {
  enum How { kRunning, kExited, kSignaled, kGone } how = kRunning;
  int code = 0;
  bool core_dumped = false;
  bool abort_called = false;
  int64_t t_ns = 0;
  std::string source;
  uint32_t peers = 0;          // other processes of the run on its node when it began to end; 0: not looked at
  uint32_t peers_running = 0;  // and how many of them were unharmed
  bool recorded = false;       // the file says so; else loading concluded it

  // It went down while all others on its node were unharmed.
  bool went_alone() const { return peers > 0 && peers_running == peers; }
};

// Messages of one kind that were posted in detail that was dropped.
struct DroppedMessages {
  uint16_t call = 0;
  uint8_t op = 0, flags = 0;
  uint32_t comm = 0;
  int32_t peer = kNoPeer, tag = 0;
  uint64_t times = 0;
};

// Calls of one function on one communicator over a time of which the detail was dropped.
struct CallSums {
  int64_t t_min_ns = 0, t_max_ns = 0;
  uint16_t call = 0;
  uint32_t comm = 0;
  uint64_t calls = 0, duration_ns = 0, longest_ns = 0, count = 0;
  uint32_t last_seq = 0;
};

// What a long run has left of its older detail. until_ns 0: nothing was dropped.
struct Dropped {
  int64_t until_ns = 0;
  uint64_t records = 0;
  std::vector<CallSums> sums;
  std::vector<DroppedMessages> messages;
  bool uncounted = false;
  bool by_choice = false;  // some of it is in the files, and was left out when they were loaded
};

// Of a process whose world was spawned, or that has communicators with such processes: what load/worlds.cc has put
// another in place of, to be the same in all processes of the run.
struct Told {
  int32_t mpi_rank = -1, mpi_size = -1, launcher_rank = -1, launcher_world_size = -1, world = 0;
  std::unordered_map<uint32_t, Communicator> comms;
};

struct Process {
  // identity, as the launcher and the system say
  std::string file;                // path of the trace file, or of the last of several
  std::vector<std::string> files;  // all of them, oldest first
  std::string run_id;
  uint32_t attempt_id = 0;
  int32_t launcher_rank = -1, launcher_world_size = -1, local_rank = -1, node_rank = -1;
  bool spawned = false;                         // by MPI_Comm_spawn
  int32_t world = 0;                            // n-th world of the run; 0: the launcher's; −1: not known
  int32_t parent_world = -1, parent_rank = -1;  // of the root of the spawn; −1: not known
  std::optional<Told> told;
  std::vector<KeyValue> rank_sources, environment;
  std::string host, machine_id, boot_id, parent, exe, cwd, git_commit, launcher, clock, stacks, ddbg_version;
  int32_t pid = 0, ppid = 0;
  std::string start_method;  // "spawn", "forkserver", "fork": came so from a process of its own program
  std::vector<std::string> argv;
  int64_t start_realtime_ns = 0, start_monotonic_ns = 0;
  std::vector<std::string> call_names;  // of the trace
  // as the libraries say
  int32_t mpi_rank = -1, mpi_size = -1;
  int32_t tag_ub = 0;  // the largest tag that its MPI allows; 0: not known
  std::string mpi_abi, mpi_version, mpi_path;
  int32_t nccl_rank = -1, nccl_size = -1;  // of its first communicator, where nobody else gave a rank
  std::vector<Library> libraries;          // but MPI's

  std::vector<Call> calls;                   // by start; a second half follows its first; open calls among them
  std::map<size_t, OpenDetail> open_detail;  // by index into `calls`
  std::unordered_map<uint32_t, Communicator> comms;
  std::unordered_map<uint32_t, Datatype> dtypes;
  std::unordered_map<uint32_t, std::vector<uint64_t>> stacks_by_id;  // return addresses, innermost first
  std::unordered_map<uint32_t, std::vector<PythonFrame>>
      python_by_stack_id;  // innermost first; only where there are any
  std::unordered_map<uint32_t, PythonCode> python_codes;
  std::unordered_map<uint32_t, uint32_t> tid_by_thread;
  std::unordered_map<uint32_t, Stream> streams;
  std::unordered_map<uint32_t, std::string> kernels;  // mangled names
  std::unordered_map<uint32_t, std::string> mark_names;
  std::vector<Device> devices;  // by ordinal
  std::vector<Level> levels;
  std::vector<Module> modules;
  std::vector<WallReading> wall;  // every ten seconds
  ProcessEnd end;
  Dropped dropped;
  SampleSeries samples;
  std::vector<std::string> cgroups;  // whose limits hold for it, its own first: names in NodeTelemetry::cgroups
  std::vector<uint64_t> lost;        // by LossCause
  int64_t last_seen_ns = 0;          // latest time in the file
  std::vector<std::string> damage;   // truncated tail, bad frames: one sentence each

  // Rank as MPI says, else as the launcher says, else as NCCL says, else -1.
  int32_t rank() const { return mpi_rank >= 0 ? mpi_rank : launcher_rank >= 0 ? launcher_rank : nccl_rank; }
  int32_t world_size() const {
    return mpi_size >= 0 ? mpi_size : launcher_world_size >= 0 ? launcher_world_size : nccl_size;
  }
  uint64_t lost_total() const {
    uint64_t sum = 0;
    for (uint64_t n : lost) sum += n;
    return sum;
  }
};

// A world of ranks that another one spawned.
struct SpawnedWorld {
  int32_t world = 0;            // from 1
  int32_t first = 0, size = 0;  // its ranks in the run
  int32_t root = -1;            // rank in the run of the process that spawned it; −1: not known
  size_t call = SIZE_MAX;       // of that one, by which it did
};

struct Run {
  std::string run_id;
  uint32_t attempt_id = 0;
  std::string dir;
  std::vector<Process> processes;       // by rank, then pid
  std::vector<SpawnedWorld> spawned;    // in the order of their numbers
  std::vector<NodeTelemetry> nodes;     // one a host that was sampled
  std::vector<std::string> unreadable;  // files that gave nothing: one sentence each
  std::vector<std::string> caveats;     // what else loading left out: one sentence each
  bool live = false;                    // some process has not ended
};

// One frame of a symbolised stack.
struct Frame {
  uint64_t address = 0;
  std::string function;  // demangled; "" if unknown
  std::string file;      // as in debug information; "" if unknown
  int line = 0;          // 0: unknown
  std::string module;    // base name of the file it lies in
  uint64_t offset = 0;   // address within the module (bias taken off)
  bool inlined = false;
  bool python = false;         // of an interpreted function: no address, module or offset
  bool called_from_c = false;  // python: the outermost of one evaluation
};

}  // namespace ddbg::analyzer
