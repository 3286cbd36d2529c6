#include <fmt/format.h>

#include <set>

#include "analyzer/align/timeline.h"
#include "analyzer/align/wall_clock.h"
#include "analyzer/context/situation.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/comm_name.h"
#include "analyzer/model/losses.h"
#include "analyzer/render/info.h"
#include "analyzer/render/json.h"
#include "analyzer/render/telemetry.h"
#include "analyzer/report/run_summary.h"
#include "analyzer/steps/roles.h"
#include "analyzer/verdict/attempts.h"

namespace ddbg::analyzer {
namespace {

const char* HowText(ProcessEnd::How how) {
  switch (how) {
    case ProcessEnd::kRunning: return "running";
    case ProcessEnd::kExited: return "exited";
    case ProcessEnd::kSignaled: return "signaled";
    default: return "gone";
  }
}

Json LossesOf(const Process& process) {
  Json losses = Json::object();
  for (size_t cause = 0; cause < process.lost.size(); ++cause) {
    if (process.lost[cause]) losses[LossName(cause)] = process.lost[cause];
  }
  return losses;
}

// A process, and where its times are on the axis.
struct Shown {
  const Process& process;
  const Timeline& timeline;
  size_t index;

  int64_t At(int64_t t_ns) const { return timeline.At(index, t_ns); }
};

Json EndOf(const Shown& shown) {
  const Process& process = shown.process;
  const ProcessEnd& end = process.end;
  Json json = {{"how", HowText(end.how)}};
  if (end.how == ProcessEnd::kExited) json["code"] = end.code;
  if (end.how == ProcessEnd::kSignaled) {
    json["signal"] = end.code;
    json["signal_name"] = SignalName(end.code);
    json["core_dumped"] = end.core_dumped;
  }
  if (end.abort_called) json["abort_called"] = true;
  if (!end.source.empty()) json["source"] = end.source;
  if (end.how != ProcessEnd::kRunning) json["t_ns"] = shown.At(end.t_ns);
  return json;
}

Json CallOf(const Shown& shown, size_t index) {
  const Process& process = shown.process;
  const Call& call = process.calls[index];
  Json json = {{"call", CallName(process, call)}};
  CallFields fields = FieldsOf(call);
  if (fields.comm) json["comm"] = CommName(process, call.comm);
  if (fields.seq) json["seq"] = call.seq;
  json["t_ns"] = shown.At(call.start_ns);
  json["dur_ns"] = call.open() ? Json() : Json(call.duration_ns);
  return json;
}

// Calls whose detail was dropped, added up by function and communicator over a time each.
Json DroppedOf(const Shown& shown, uint64_t calls) {
  const Process& process = shown.process;
  Json sums = Json::array();
  for (const CallSums& s : process.dropped.sums) {
    Call call;
    call.call = s.call;
    call.comm = s.comm;
    if (call.call < kFirstCall) continue;
    Json one = {{"call", CallName(process, call)},
                {"t_min_ns", shown.At(s.t_min_ns)},
                {"t_max_ns", shown.At(s.t_max_ns)},
                {"calls", s.calls},
                {"duration_ns", s.duration_ns},
                {"longest_ns", s.longest_ns},
                {"count", s.count}};
    if (s.comm) one["comm"] = CommName(process, s.comm);
    if (FieldsOf(call).seq) one["last_seq"] = s.last_seq;
    sums.push_back(std::move(one));
  }
  return {{"calls", calls}, {"until_ns", shown.At(process.dropped.until_ns)}, {"sums", std::move(sums)}};
}

void PutIfKnown(Json* json, const char* key, const std::string& value) {
  if (!value.empty()) (*json)[key] = value;
}

std::string UuidText(const std::string& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i)
    text +=
        fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", static_cast<unsigned char>(bytes[i]));
  return text;
}

Json DevicesOf(const Process& process) {
  Json devices = Json::array();
  for (const Device& device : process.devices) {
    Json json = {{"ordinal", device.ordinal}};
    PutIfKnown(&json, "bus_id", device.bus_id);
    PutIfKnown(&json, "uuid", UuidText(device.uuid));
    PutIfKnown(&json, "name", device.name);
    devices.push_back(std::move(json));
  }
  return devices;
}

// What was recorded at all, and why not the rest.
Json LevelsOf(const Process& process) {
  Json levels = Json::array();
  for (const Level& level : process.levels) {
    Json json = {{"name", level.name}, {"on", level.on}};
    PutIfKnown(&json, "why", level.why);
    levels.push_back(std::move(json));
  }
  return levels;
}

Json RankOf(const Shown& shown, bool telemetry) {
  const Process& process = shown.process;
  ProcessSummary summary = Summarize(process);
  Json json = {{"rank", process.rank()}, {"pid", process.pid}, {"host", process.host}};
  if (process.local_rank >= 0) json["local_rank"] = process.local_rank;
  if (process.node_rank >= 0) json["node_rank"] = process.node_rank;
  if (process.world_size() >= 0) json["world_size"] = process.world_size();
  json["ppid"] = process.ppid;
  PutIfKnown(&json, "parent", process.parent);
  PutIfKnown(&json, "launcher", process.launcher);
  PutIfKnown(&json, "start_method", process.start_method);
  if (LoaderWorkers workers = LoaderWorkersOf(process); !workers.pids.empty())
    json["loader_workers"] = {{"start_method", workers.start_method}, {"pids", workers.pids}};
  json["rank_sources"] = Json::object();
  for (const KeyValue& source : process.rank_sources) json["rank_sources"][source.key] = source.value;
  PutIfKnown(&json, "exe", process.exe);
  if (!process.argv.empty()) json["argv"] = process.argv;
  PutIfKnown(&json, "cwd", process.cwd);
  PutIfKnown(&json, "git_commit", process.git_commit);
  PutIfKnown(&json, "stacks", process.stacks);
  PutIfKnown(&json, "ddbg_version", process.ddbg_version);
  json["calls"] = summary.calls;
  if (summary.last_call != kNoIndex) json["last_call"] = CallOf(shown, summary.last_call);
  if (summary.open_call != kNoIndex) {
    json["open_call"] = CallOf(shown, summary.open_call);
    json["open_ns"] = summary.open_ns;
  }
  if (process.dropped.until_ns) json["dropped"] = DroppedOf(shown, summary.dropped_calls);
  json["end"] = EndOf(shown);
  json["lost"] = LossesOf(process);
  if (!process.devices.empty()) json["devices"] = DevicesOf(process);
  if (!process.levels.empty()) json["levels"] = LevelsOf(process);
  if (!process.samples.empty()) json["telemetry"] = SamplesOf(process.samples, telemetry);
  if (!process.cgroups.empty()) json["cgroups"] = process.cgroups;
  json["file"] = process.file;
  if (process.files.size() > 1) json["files"] = process.files;
  json["file_bytes"] = summary.file_bytes;
  json["damage"] = process.damage;
  return json;
}

// Communicators of several ranks that were used, with what they are for.
Json CommunicatorsOf(const Run& run) {
  Matching matching = MatchCollectives(run);
  Steps steps(run, matching);
  Roles roles(run, matching, steps);
  Json all = Json::array();
  for (size_t g = 0; g < matching.groups.size(); ++g) {
    const CommGroup& group = matching.groups[g];
    const CommRole& role = roles.of(g);
    Json ranks = Json::array();
    for (const Member& member : group.members) ranks.push_back(run.processes[member.process].rank());
    all.push_back({{"name", group.name},
                   {"uid", CommUidText(group.uid)},
                   {"size", group.size},
                   {"ranks", std::move(ranks)},
                   {"nccl", group.nccl},
                   {"collectives", group.longest},
                   {"role", RoleName(role.role)},
                   {"role_confidence", role.confidence},
                   {"role_why", role.why}});
  }
  return all;
}

Json MpiOf(const Process& process) {
  Json json = Json::object();
  PutIfKnown(&json, "abi", process.mpi_abi);
  PutIfKnown(&json, "version", process.mpi_version);
  PutIfKnown(&json, "path", process.mpi_path);
  return json;
}

Json ClocksJson(const Run& run, const Timeline& timeline) {
  WallClocks walls(run, timeline);
  Json json = Json::array();
  for (const ClockSummary& clock : ClocksOf(run, timeline, walls)) {
    Json one = {{"host", clock.host},         {"boot_id", clock.boot_id}, {"ranks", clock.ranks},
                {"start_ns", clock.start_ns}, {"end_ns", clock.end_ns},   {"drift_ppm", clock.drift_ppm},
                {"tied_by", clock.tied_by}};
    one["error_ns"] = clock.error_ns == kUnknownError ? Json() : Json(clock.error_ns);
    if (clock.wall_ahead_ns) one["wall_ahead_ns"] = *clock.wall_ahead_ns;
    json.push_back(std::move(one));
  }
  return json;
}

Json LibraryOf(const Library& library) {
  Json json = {{"api", library.api}};
  PutIfKnown(&json, "abi", library.abi);
  PutIfKnown(&json, "version", library.version);
  PutIfKnown(&json, "path", library.path);
  return json;
}

}  // namespace

void PrintInfoJson(const Run& run, bool telemetry, Output& out) {
  Timeline timeline(run);
  std::set<std::string> hosts, launchers;
  std::set<Json> mpi, libraries;
  uint64_t lost = 0;
  for (const Process& process : run.processes) {
    hosts.insert(process.host);
    if (!process.launcher.empty()) launchers.insert(process.launcher);
    if (Json library = MpiOf(process); !library.empty()) mpi.insert(library);
    for (const Library& library : process.libraries) libraries.insert(LibraryOf(library));
    lost += process.lost_total();
  }
  Json json = {{"schema", "ddbg.info/1"}, {"run_id", run.run_id}, {"attempt_id", run.attempt_id}, {"dir", run.dir}};
  json["earlier_attempts"] = Json::array();
  for (const EarlierAttempt& attempt : EarlierAttempts(run.dir))
    json["earlier_attempts"].push_back({{"attempt_id", attempt.number}, {"outcome", OutcomeText(attempt)}});
  json["live"] = run.live;
  json["loss_line"] = LossLine(run);
  json["lost_records"] = lost;
  if (WorldSize(run) >= 0) json["world_size"] = WorldSize(run);
  json["hosts"] = hosts;
  json["clocks"] = ClocksJson(run, timeline);
  json["order_contradictions"] = timeline.alignment().contradictions;
  json["launchers"] = launchers;
  json["mpi"] = mpi;
  json["libraries"] = libraries;
  if (timeline.realtime_ns()) json["start_realtime_ns"] = timeline.realtime_ns();
  json["duration_ns"] = timeline.end_ns();
  json["missing_ranks"] = MissingRanks(run);
  for (const SpawnedWorld& world : run.spawned)
    json["spawned_worlds"].push_back({{"world", world.world},
                                      {"first_rank", world.first},
                                      {"size", world.size},
                                      {"spawned_by", world.root < 0 ? Json() : Json(world.root)}});
  json["communicators"] = CommunicatorsOf(run);
  json["ranks"] = Json::array();
  for (size_t i = 0; i < run.processes.size(); ++i)
    json["ranks"].push_back(RankOf({run.processes[i], timeline, i}, telemetry));
  json["nodes"] = Json::array();
  for (const NodeTelemetry& node : run.nodes) json["nodes"].push_back(NodeJson(node, telemetry));
  json["unreadable"] = run.unreadable;
  out.Write(Dump(json, 2) + "\n");
}

}  // namespace ddbg::analyzer
