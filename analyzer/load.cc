#include "analyzer/load.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "analyzer/liveness.h"
#include "analyzer/module_role.h"
#include "analyzer/process_loader.h"
#include "analyzer/process_source.h"
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

// A process that has just ended: the collector is about to write the last of it, and how it ended.
void AwaitEnd(Process* process) {
  constexpr auto kPause = std::chrono::milliseconds(20);
  off_t loaded_bytes = -1;  // not known: the file may have grown since it was loaded
  struct stat file;
  for (; process->end.how == ProcessEnd::kGone && !process->end.recorded; std::this_thread::sleep_for(kPause)) {
    if (stat(process->file.c_str(), &file) != 0 || !IsFresh(file)) return;
    if (file.st_size == loaded_bytes) continue;
    loaded_bytes = file.st_size;
    Result<Process> again = LoadProcess(process->file);
    if (!again) return;
    SettleEnd(&*again);
    *process = *std::move(again);
  }
}

// Ranks in order, processes of unknown rank last.
bool ByRank(const Process& a, const Process& b) {
  auto key = [](const Process& p) { return std::tuple(p.rank() < 0, p.rank(), std::string_view(p.host), p.pid); };
  return key(a) < key(b);
}

}  // namespace

Result<Process> LoadProcess(const std::string& path) {
  Result<ProcessSource> source = ProcessSource::Open(StemOf(path));
  if (!source) return source.error();
  ProcessLoader loader;
  TraceChunk chunk;
  while (source->Next(&chunk)) loader.Add(chunk.bytes);
  std::vector<std::string> damage = source->Damage();
  if (!loader.has_identity()) {
    return Error{path + " does not say whose calls it holds, since its beginning is missing; leave this file out." +
                 (damage.empty() ? "" : " (" + damage.front() + ")")};
  }
  Process process = loader.Finish(source->files().back());
  process.files = source->files();
  process.damage.insert(process.damage.begin(), damage.begin(), damage.end());
  return process;
}

Run LoadRun(const RunFiles& files) {
  Run run;
  run.dir = files.dir;
  std::set<std::string> seen;
  for (const std::string& file : files.files) {
    if (IsNodeFile(file) || !seen.insert(StemOf(file)).second) continue;
    Result<Process> process = LoadProcess(file);
    if (!process) {
      run.unreadable.push_back(process.error().text);
      continue;
    }
    SettleEnd(&*process);
    run.processes.push_back(*std::move(process));
  }
  std::sort(run.processes.begin(), run.processes.end(), ByRank);
  if (!run.processes.empty()) {
    run.run_id = run.processes.front().run_id;
    run.attempt_id = run.processes.front().attempt_id;
  }
  run.live = std::any_of(run.processes.begin(), run.processes.end(),
                         [](const Process& p) { return p.end.how == ProcessEnd::kRunning; });
  return run;
}

Result<Run> OpenRun(const std::vector<std::string>& names) {
  Result<RunFiles> files = ResolveRun(names, RunsDirectory());
  if (!files) return files.error();
  Run run = LoadRun(*files);
  for (Process& process : run.processes) AwaitEnd(&process);
  if (!run.processes.empty()) return run;
  if (run.unreadable.empty()) return Error{files->dir + " has no trace of a process in it"};
  return Error{run.unreadable.front()};
}

}  // namespace ddbg::analyzer
