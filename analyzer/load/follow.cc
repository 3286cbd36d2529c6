#include "analyzer/load/follow.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "analyzer/load/load.h"
#include "analyzer/load/run_dirs.h"
#include "analyzer/load/survey.h"
#include "analyzer/load/worlds.h"
#include "analyzer/model/module_role.h"
#include "analyzer/model/parallel.h"
#include "proto/clock_ticks.h"

namespace ddbg::analyzer {
namespace {

constexpr int64_t kListNs = 1'000'000'000;  // how often it is looked for new processes
constexpr size_t kFewestCalls = 512;
// Collectives that not all members have come to. Members that were not traced never come: then the oldest go.
constexpr size_t kMostOpen = 100'000;

bool EndedBadly(const ProcessEnd& end) {
  return end.recorded && (end.how != ProcessEnd::kExited || end.code != 0 || end.abort_called);
}

// Shapes whose count and type are equal on all members, whatever side of it they are.
bool MustBeAlike(const Call& call) {
  switch (call.info().shape) {
    case CallShape::Barrier:
    case CallShape::Bcast:
    case CallShape::Reduce:
    case CallShape::Allreduce:
    case CallShape::Same: return true;
    default: return false;
  }
}

}  // namespace

Result<void> RunFollower::List() {
  Result<RunFiles> files = ResolveRun(names_, RunsDirectory());
  if (!files) return files.error();
  dir_ = files->dir;
  files_ = *files;
  std::map<std::string, std::string> by_stem;
  for (const std::string& file : files->files)
    if (!BaseName(file).starts_with("node-")) by_stem.try_emplace(StemOf(file), file);
  bool same =
      by_stem.size() == tracked_.size() && std::equal(by_stem.begin(), by_stem.end(), tracked_.begin(),
                                                      [](const auto& a, const auto& b) { return a.first == b.first; });
  if (same) return {};
  std::vector<std::string> first_files;
  for (const auto& [stem, file] : by_stem) first_files.push_back(file);
  std::vector<Candidate> candidates = LookAt(first_files, &directory_, options_.threads);
  caveats_.clear();
  KeepOneAttempt(&candidates, &caveats_);
  std::map<std::string, Tracked> tracked;
  for (const Candidate& candidate : candidates) {
    auto known = tracked_.find(candidate.stem);
    Tracked& now = tracked[candidate.stem];
    if (known != tracked_.end())
      now = std::move(known->second);
    else
      now.file = candidate.file;
  }
  tracked_ = std::move(tracked);
  return {};
}

Result<void> RunFollower::Poll() {
  int64_t now = MonotonicNs();
  if (listed_ns_ == 0 || now - listed_ns_ >= kListNs) {
    Result<void> listed = List();
    if (!listed) return listed;
    listed_ns_ = now;
  }
  std::vector<std::pair<const std::string*, Tracked*>> grown;
  for (auto& [stem, tracked] : tracked_) {
    struct stat file;
    if (tracked.ended || stat(tracked.file.c_str(), &file) != 0) continue;
    if (file.st_size == tracked.size && file.st_ino == tracked.inode) continue;
    tracked.size = file.st_size;
    tracked.inode = file.st_ino;
    grown.push_back({&stem, &tracked});
  }
  if (grown_ns_ == 0 || !grown.empty()) grown_ns_ = now;
  ParallelFor(grown.size(), options_.threads, [&](size_t i) { Read(*grown[i].first, grown[i].second); });
  for (auto& [stem, tracked] : grown) {
    if (!tracked->loader) continue;
    const Process& process = tracked->loader->so_far();
    Compare(process, tracked->loader->TakeFresh());
    bool ended = process.end.recorded;
    if (ended && !tracked->ended && EndedBadly(process.end)) alarm_ = true;
    tracked->ended = ended;
  }
  return {};
}

void RunFollower::Read(const std::string& stem, Tracked* tracked) {
  Result<ProcessSource> source = ProcessSource::Open(stem, &directory_);
  if (!source) {
    tracked->error = source.error().text;
    return;
  }
  if (!tracked->loader || !source->Resume(tracked->places)) {
    tracked->loader = std::make_unique<ProcessLoader>();
    tracked->loader->KeepLast(std::max(kFewestCalls, options_.most_calls / std::max<size_t>(1, tracked_.size())));
    tracked->loader->Watch();
  }
  TraceChunk chunk;
  while (source->Next(&chunk)) {
    if (options_.last_ns) tracked->loader->KeepFrom(tracked->loader->last_told_ns() - *options_.last_ns);
    tracked->loader->Add(chunk.bytes);
  }
  tracked->places = source->Places();
  tracked->files = source->files();
  tracked->damage = source->Damage();
  tracked->error.clear();
}

// Each collective against what the first member gave. Only an alarm: the diagnosis then looks properly.
void RunFollower::Compare(const Process& process, const std::vector<Call>& calls) {
  for (const Call& call : calls) {
    auto comm = process.comms.find(call.comm);
    if (comm == process.comms.end() || comm->second.uid == 0 || comm->second.size < 2) continue;
    std::unordered_map<uint32_t, Seen>& of_comm = open_[comm->second.uid];
    if (of_comm.size() > kMostOpen) of_comm.clear();
    bool alike = MustBeAlike(call);
    auto type = alike ? process.dtypes.find(call.dtype) : process.dtypes.end();
    Seen seen{call.call,
              call.op,
              call.peer,
              alike ? call.count : 0,
              type == process.dtypes.end() ? 0 : type->second.signature,
              0};
    auto [at, fresh] = of_comm.try_emplace(call.seq, seen);
    Seen& first = at->second;
    if (!fresh && (first.call != seen.call || first.op != seen.op || first.count != seen.count ||
                   first.type != seen.type || first.peer != seen.peer))
      alarm_ = true;
    if (++first.members >= comm->second.size) of_comm.erase(at);
  }
}

bool RunFollower::AllEnded() const {
  return !tracked_.empty() &&
         std::all_of(tracked_.begin(), tracked_.end(), [](const auto& entry) { return entry.second.ended; });
}

int64_t RunFollower::QuietNs() const { return MonotonicNs() - grown_ns_; }

int64_t RunFollower::LongestOpenNs() const {
  int64_t longest = 0;
  for (const auto& [stem, tracked] : tracked_) {
    if (!tracked.loader || tracked.ended) continue;
    const Process& process = tracked.loader->so_far();
    int64_t since = tracked.loader->OpenSince();
    if (since == 0) continue;
    int64_t now = process.start_monotonic_ns + (RealtimeNs() - process.start_realtime_ns);
    longest = std::max(longest, now - since);
  }
  return longest;
}

Run RunFollower::Take() {
  Run run;
  run.dir = dir_;
  run.caveats = caveats_;
  for (auto& [stem, tracked] : tracked_) {
    if (!tracked.loader || !tracked.loader->has_identity()) {
      if (!tracked.error.empty()) run.unreadable.push_back(tracked.error);
      continue;
    }
    Process process = tracked.loader->Finish(tracked.files.back());
    process.files = tracked.files;
    process.damage.insert(process.damage.begin(), tracked.damage.begin(), tracked.damage.end());
    run.processes.push_back(std::move(process));
  }
  run.nodes = LoadNodes(files_);
  SettleRun(&run);
  return run;
}

void RunFollower::GiveBack(Run run) {
  PartWorlds(&run);
  for (Process& process : run.processes) {
    auto tracked = tracked_.find(StemOf(process.file));
    if (tracked != tracked_.end()) tracked->second.loader->Resume(std::move(process));
  }
}

}  // namespace ddbg::analyzer
