#include <fmt/format.h>

#include <map>
#include <set>

#include "analyzer/call_fields.h"
#include "analyzer/comm_name.h"
#include "analyzer/format.h"
#include "analyzer/render/info.h"
#include "analyzer/run_summary.h"
#include "analyzer/situation.h"
#include "analyzer/timeline.h"

namespace ddbg::analyzer {
namespace {

// "MPI_Allreduce #41 of MPI_COMM_WORLD"
std::string CallText(const Process& process, size_t index) {
  if (index == kNoIndex) return "-";
  const Call& call = process.calls[index];
  std::string text = CallName(process, call);
  if (FieldsOf(call).seq) text += fmt::format(" #{} of {}", call.seq, CommName(process, call.comm));
  return text;
}

std::string EndText(const Process& process, const ProcessSummary& summary) {
  bool open = summary.open_call != kNoIndex;
  if (process.end.how == ProcessEnd::kRunning) {
    return open ? fmt::format("running, in {} for {}", CallName(process, process.calls[summary.open_call]),
                              DurationText(summary.open_ns))
                : "running";
  }
  std::string text = DescribeEnd(process.end);
  if (open) text += fmt::format(", in {}", CallName(process, process.calls[summary.open_call]));
  return text;
}

// The values that `get` gives over all processes, each once, comma-separated.
template <typename Get>
std::string Distinct(const Run& run, Get get) {
  std::set<std::string> values;
  for (const Process& process : run.processes) {
    if (!get(process).empty()) values.insert(get(process));
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

std::string Line(const char* name, const std::string& value) {
  return value.empty() ? "" : fmt::format("{:<9} {}\n", name, value);
}

std::map<std::string, std::set<std::string>> Libraries(const Run& run) {
  std::map<std::string, std::set<std::string>> versions;
  for (const Process& process : run.processes)
    for (const Library& library : process.libraries)
      versions[library.api].insert(library.version.empty() ? library.path : library.version);
  return versions;
}

// "8 x NVIDIA H200"; each device of each host once. Where nobody told their name: "2".
std::string Devices(const Run& run) {
  std::map<std::string, std::set<std::string>> places;  // by name
  for (const Process& process : run.processes)
    for (const Device& device : process.devices) places[device.name].insert(process.host + device.bus_id + device.uuid);
  std::vector<std::string> parts;
  for (const auto& [name, where] : places)
    parts.push_back(name.empty() ? std::to_string(where.size()) : fmt::format("{} x {}", where.size(), name));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// "CUDA driver: off, DDBG_CUDA_DRIVER=1 switches it on"
std::set<std::string> Levels(const Run& run) {
  std::set<std::string> levels;
  for (const Process& process : run.processes)
    for (const Level& level : process.levels)
      levels.insert(
          fmt::format("{}: {}{}{}", level.name, level.on ? "on" : "off", level.why.empty() ? "" : ", ", level.why));
  return levels;
}

std::string Header(const Run& run) {
  Timeline timeline(run);
  std::string text = LossLine(run) + "\n";
  text += Line("run", run.run_id + (run.live ? " (running)" : ""));
  text += Line("attempt", std::to_string(run.attempt_id));
  text += Line("host", Distinct(run, [](const Process& p) { return p.host; }));
  text += Line("launcher", Distinct(run, [](const Process& p) { return p.launcher; }));
  text +=
      Line("MPI", Distinct(run, [](const Process& p) { return p.mpi_version.empty() ? p.mpi_abi : p.mpi_version; }));
  for (const auto& [api, versions] : Libraries(run))
    text += Line(api.c_str(), fmt::format("{}", fmt::join(versions, ", ")));
  text += Line("devices", Devices(run));
  for (const std::string& level : Levels(run)) text += Line("recorded", level);
  if (timeline.realtime_ns()) text += Line("start", WallClockText(timeline.realtime_ns()));
  text += Line("duration", DurationText(timeline.end_ns()));
  if (WorldSize(run) >= 0) text += Line("ranks", fmt::format("{} of {}", run.processes.size(), WorldSize(run)));
  text += Line("missing", RanksText(MissingRanks(run)));
  return text;
}

std::string Ranks(const Run& run) {
  Table table({"rank", "pid", "host", "calls", "last call", "end", "file"});
  for (const Process& process : run.processes) {
    ProcessSummary summary = Summarize(process);
    table.Add({process.rank() >= 0 ? std::to_string(process.rank()) : "-", std::to_string(process.pid), process.host,
               Grouped(summary.calls), CallText(process, summary.last_call), EndText(process, summary),
               BytesText(summary.file_bytes)});
  }
  return table.Text();
}

}  // namespace

void PrintInfoText(const Run& run, Output& out) {
  out.Write(Header(run) + "\n" + Ranks(run));
  std::string damage;
  for (const Process& process : run.processes) {
    for (const std::string& sentence : process.damage) damage += "  " + sentence + "\n";
  }
  for (const std::string& sentence : run.unreadable) damage += "  " + sentence + "\n";
  if (!damage.empty()) out.Write("\ndamage\n" + damage);
}

}  // namespace ddbg::analyzer
