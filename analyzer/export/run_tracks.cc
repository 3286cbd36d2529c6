#include "analyzer/export/run_tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {
namespace {

constexpr int32_t kBeyondTids = 1 << 30;  // Linux has none above 2^22

// Could a viewer take two processes for one?
bool IdsComeTwice(const Run& run) {
  std::set<int32_t> pids;
  std::set<uint32_t> tids;
  for (const Process& process : run.processes) {
    if (process.pid <= 0 || !pids.insert(process.pid).second) return true;
    for (const auto& [thread, tid] : process.tid_by_thread)
      if (tid == 0 || !tids.insert(tid).second) return true;
  }
  return false;
}

int32_t UnusedPid(const Run& run) {
  std::set<int32_t> pids;
  for (const Process& process : run.processes) pids.insert(process.pid);
  int32_t pid = 1;
  while (pids.count(pid)) ++pid;
  return pid;
}

}  // namespace

std::string TrackName(const Process& process) {
  std::string place = fmt::format("{}{}pid {}", process.host, process.host.empty() ? "" : ", ", process.pid);
  return process.rank() >= 0 ? fmt::format("rank {} ({})", process.rank(), place) : place;
}

RunTracks::RunTracks(const Run& run, PerfettoWriter* writer)
    : run_(run), writer_(writer), numbered_(IdsComeTwice(run)), processes_(run.processes.size()) {
  threads_.resize(run.processes.size());
  int32_t count = static_cast<int32_t>(run.processes.size());
  communicators_pid_ = numbered_ ? count + 1 : UnusedPid(run);
  next_tid_ = numbered_ ? count + 2 : kBeyondTids;
}

int32_t RunTracks::Pid(size_t process) const {
  return numbered_ ? static_cast<int32_t>(process) + 1 : run_.processes[process].pid;
}

uint64_t RunTracks::Process(size_t process) {
  uint64_t& track = processes_[process];
  if (track) return track;
  track = New();
  const analyzer::Process& p = run_.processes[process];
  writer_->Track({track, 0, TrackName(p), Pid(process), -1, p.argv, static_cast<int32_t>(process) + 1});
  return track;
}

uint64_t RunTracks::Thread(size_t process, uint32_t thread) {
  uint64_t& track = threads_[process][thread];
  if (track) return track;
  Process(process);
  track = New();
  const analyzer::Process& p = run_.processes[process];
  auto known = p.tid_by_thread.find(thread);
  int32_t tid = known == p.tid_by_thread.end() ? -1 : static_cast<int32_t>(known->second);
  bool is_main = tid == p.pid || (tid < 0 && thread == 0);
  std::string name = is_main   ? "main thread"
                     : tid < 0 ? fmt::format("thread {}", thread)
                               : fmt::format("thread {}", tid);
  if (is_main) {
    tid = Pid(process);
  } else if (numbered_ || tid < 0) {
    tid = next_tid_++;
  }
  writer_->Track({track, 0, name, Pid(process), tid, {}, -1});
  return track;
}

uint64_t RunTracks::Communicators() {
  if (communicators_) return communicators_;
  communicators_ = New();
  writer_->Track({communicators_, 0, "communicators", communicators_pid_, -1, {}, 0});
  return communicators_;
}

uint64_t RunTracks::LaneOf(Lanes* lanes, uint64_t parent, const std::string& name, int64_t start_ns, int64_t end_ns) {
  auto lane = std::find_if(lanes->begin(), lanes->end(), [&](const Lane& l) { return l.free_ns <= start_ns; });
  if (lane == lanes->end()) {
    lanes->push_back({New(), 0});
    lane = lanes->end() - 1;
    writer_->Track({lane->track, parent, name, -1, -1, {}, -1});
  }
  lane->free_ns = end_ns;
  return lane->track;
}

uint64_t RunTracks::Stream(size_t process, int32_t stream, int64_t start_ns, int64_t end_ns) {
  const analyzer::Process& p = run_.processes[process];
  auto known = p.streams.find(static_cast<uint32_t>(stream));
  int32_t device = known == p.streams.end() ? -1 : known->second.device;
  std::string name = StreamName(p, stream);
  if (name.empty()) name = "unknown stream";
  if (device >= 0) name = fmt::format("GPU {} {}", device, name);
  return LaneOf(&lanes_[{kStream, process, static_cast<uint32_t>(stream)}], Process(process), name, start_ns, end_ns);
}

uint64_t RunTracks::Polls(size_t process, uint32_t thread, int64_t start_ns, int64_t end_ns) {
  auto tid = run_.processes[process].tid_by_thread.find(thread);
  std::string name =
      fmt::format("polls of thread {}", tid == run_.processes[process].tid_by_thread.end() ? thread : tid->second);
  return LaneOf(&lanes_[{kPolls, process, thread}], Process(process), name, start_ns, end_ns);
}

uint64_t RunTracks::Communicator(size_t group, const std::string& name, int64_t start_ns, int64_t end_ns) {
  return LaneOf(&lanes_[{kCommunicator, group, 0}], Communicators(), name, start_ns, end_ns);
}

}  // namespace ddbg::analyzer
