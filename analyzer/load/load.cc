#include "analyzer/load/load.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "analyzer/load/liveness.h"
#include "analyzer/load/process_loader.h"
#include "analyzer/load/process_source.h"
#include "analyzer/load/survey.h"
#include "analyzer/load/telemetry.h"
#include "analyzer/load/worlds.h"
#include "analyzer/model/module_role.h"
#include "analyzer/model/parallel.h"
#include "proto/clock_ticks.h"

namespace ddbg::analyzer {
namespace {

// The collector's own events: no process.
bool IsNodeFile(const std::string& path) { return BaseName(path).starts_with("node-"); }

void SettleEnd(Process* process) {
  if (process->end.how != ProcessEnd::kRunning || StillRuns(*process)) return;
  process->end.how = ProcessEnd::kGone;
  process->end.t_ns = process->last_seen_ns;
}

// Has the file been written to within the last second?
bool IsFresh(const struct stat& file) {
  constexpr int64_t kFreshNs = 1'000'000'000;
  return RealtimeNs() - (file.st_mtim.tv_sec * int64_t{1'000'000'000} + file.st_mtim.tv_nsec) < kFreshNs;
}

// A host may have several files: of a collector before, of another user's. A file that gives nothing lacks nothing
// else.
void LoadNode(const std::string& path, TraceDirectory* directory, std::vector<NodeTelemetry>* nodes) {
  Result<ProcessSource> source = ProcessSource::Open(StemOf(path), directory);
  if (!source) return;
  NodeTelemetry node;
  NodeLoader loader;
  TraceChunk chunk;
  while (source->Next(&chunk)) loader.Add(chunk.bytes, &node);
  auto same = std::find_if(nodes->begin(), nodes->end(), [&](const NodeTelemetry& n) { return n.host == node.host; });
  if (same == nodes->end()) return nodes->push_back(std::move(node));
  // Two that overlap are of two collectors, which see the same: the one that saw more.
  if (node.system.t_ns.size() > same->system.t_ns.size()) std::swap(*same, node);
  same->clock_steps.insert(same->clock_steps.end(), node.clock_steps.begin(), node.clock_steps.end());
  for (auto& [name, series] : node.cgroups) same->cgroups.try_emplace(name, std::move(series));
}

// Ranks in order, processes of unknown rank last.
bool ByRank(const Process& a, const Process& b) {
  auto key = [](const Process& p) { return std::tuple(p.rank() < 0, p.rank(), std::string_view(p.host), p.pid); };
  return key(a) < key(b);
}

Result<Process> Load(const Candidate& candidate, TraceDirectory* directory) {
  Result<ProcessSource> source = ProcessSource::Open(candidate.stem, directory);
  if (!source) return source.error();
  ProcessLoader loader;
  loader.KeepFrom(candidate.keep_from_ns);
  auto bytes = static_cast<double>(std::max<uint64_t>(1, source->bytes()));
  TraceChunk chunk;
  while (source->Next(&chunk)) {
    loader.Expect(static_cast<double>(source->bytes_read()) / bytes);
    loader.Add(chunk.bytes);
  }
  std::vector<std::string> damage = source->Damage();
  if (!loader.has_identity()) {
    return Error{candidate.file +
                 " does not say whose calls it holds, since its beginning is missing; leave this file out." +
                 (damage.empty() ? "" : " (" + damage.front() + ")")};
  }
  Process process = loader.Finish(source->files().back());
  process.files = source->files();
  process.damage.insert(process.damage.begin(), damage.begin(), damage.end());
  return process;
}

// A process that has just ended: the collector is about to write the last of it, and how it ended.
void AwaitEnd(const Candidate& candidate, Process* process) {
  constexpr auto kPause = std::chrono::milliseconds(20);
  off_t loaded_bytes = -1;  // not known: the file may have grown since it was loaded
  struct stat file;
  TraceDirectory directory;
  for (; process->end.how == ProcessEnd::kGone && !process->end.recorded; std::this_thread::sleep_for(kPause)) {
    if (stat(process->file.c_str(), &file) != 0 || !IsFresh(file)) return;
    if (file.st_size == loaded_bytes) continue;
    loaded_bytes = file.st_size;
    Result<Process> again = Load(candidate, &directory);
    if (!again) return;
    SettleEnd(&*again);
    *process = *std::move(again);
  }
}

Run Load(const RunFiles& files, const LoadOptions& options, bool await_ends) {
  Run run;
  run.dir = files.dir;
  TraceDirectory directory;
  std::vector<std::string> first_files;
  std::set<std::string> seen;
  for (const std::string& file : files.files)
    if (!IsNodeFile(file) && seen.insert(StemOf(file)).second) first_files.push_back(file);
  run.nodes = LoadNodes(files);
  std::vector<Candidate> candidates = LookAt(first_files, &directory, options.threads);
  KeepOneAttempt(&candidates, &run.caveats);
  ChooseWindow(options.last_ns, options.memory_bytes ? options.memory_bytes : UsableMemory(), &directory,
               options.threads, &candidates, &run.caveats);
  std::vector<std::optional<Result<Process>>> loaded(candidates.size());
  std::mutex told;
  uint64_t done = 0, all = 0;
  for (const Candidate& candidate : candidates) all += candidate.bytes;
  ParallelFor(candidates.size(), options.threads, [&](size_t i) {
    loaded[i].emplace(Load(candidates[i], &directory));
    if (*loaded[i]) {
      SettleEnd(&**loaded[i]);
      if (await_ends) AwaitEnd(candidates[i], &**loaded[i]);
    }
    if (!options.progress) return;
    std::lock_guard lock(told);
    options.progress(done += candidates[i].bytes, all, "reading");
  });
  for (std::optional<Result<Process>>& process : loaded) {
    if (*process)
      run.processes.push_back(**std::move(process));
    else
      run.unreadable.push_back(process->error().text);
  }
  SettleRun(&run);
  return run;
}

}  // namespace

Result<Process> LoadProcess(const std::string& path) {
  Candidate candidate;
  candidate.file = path;
  candidate.stem = StemOf(path);
  TraceDirectory directory;
  return Load(candidate, &directory);
}

std::vector<NodeTelemetry> LoadNodes(const RunFiles& files) {
  std::vector<NodeTelemetry> nodes;
  TraceDirectory directory;
  std::set<std::string> seen;
  for (const std::string& file : files.files)
    if (IsNodeFile(file) && seen.insert(StemOf(file)).second) LoadNode(file, &directory, &nodes);
  return nodes;
}

void SettleRun(Run* run) {
  for (Process& process : run->processes) SettleEnd(&process);
  JoinWorlds(run);
  std::sort(run->processes.begin(), run->processes.end(), ByRank);
  if (!run->processes.empty()) {
    run->run_id = run->processes.front().run_id;
    run->attempt_id = run->processes.front().attempt_id;
  }
  run->live = std::any_of(run->processes.begin(), run->processes.end(),
                          [](const Process& p) { return p.end.how == ProcessEnd::kRunning; });
}

Run LoadRun(const RunFiles& files, const LoadOptions& options) { return Load(files, options, false); }

Result<Run> OpenRun(const std::vector<std::string>& names, const LoadOptions& options) {
  Result<RunFiles> files = ResolveRun(names, RunsDirectory());
  if (!files) return files.error();
  Run run = Load(*files, options, true);
  if (!run.processes.empty()) return run;
  if (run.unreadable.empty()) return Error{files->dir + " has no trace of a process in it"};
  return Error{run.unreadable.front()};
}

}  // namespace ddbg::analyzer
