#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analyzer/align/timeline.h"
#include "analyzer/align/wall_clock.h"
#include "analyzer/context/situation.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/comm_name.h"
#include "analyzer/model/format.h"
#include "analyzer/render/info.h"
#include "analyzer/render/telemetry.h"
#include "analyzer/report/run_summary.h"
#include "analyzer/report/spawned.h"
#include "analyzer/steps/roles.h"
#include "analyzer/verdict/attempts.h"

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

// Of one host there is nothing to say.
std::string Clocks(const Run& run, const Timeline& timeline) {
  WallClocks walls(run, timeline);
  std::string text;
  std::vector<ClockSummary> clocks = ClocksOf(run, timeline, walls);
  for (size_t i = 0; i < clocks.size() && clocks.size() > 1; ++i) {
    const ClockSummary& clock = clocks[i];
    std::string line = fmt::format("{} at the start {:.6f} s", clock.host, static_cast<double>(clock.start_ns) / 1e9);
    if (i > 0) {
      line += fmt::format(", {:+.3f} ppm, ", clock.drift_ppm);
      line += clock.error_ns == kUnknownError ? "known from wall clocks only"
                                              : fmt::format("known to {}", DurationText(clock.error_ns));
      if (clock.wall_ahead_ns)
        line += fmt::format("; wall clock {:+.3f} s", static_cast<double>(*clock.wall_ahead_ns) / 1e9);
    } else {
      line += ", the reference";
    }
    text += Line("clock", line);
  }
  if (size_t count = timeline.alignment().contradictions)
    text += Line("order", Counted(count, "event") + " between hosts that no order of clocks explains");
  return text;
}

std::string Header(const Run& run, const Terminal& terminal) {
  Timeline timeline(run);
  std::string losses = LossLine(run);
  std::string text = terminal.Paragraph(losses, 0, losses.starts_with("LOST") ? Tone::kDoubt : Tone::kPlain);
  text += Line("run", run.run_id + (run.live ? " (running)" : ""));
  text += Line("attempt", std::to_string(run.attempt_id));
  for (const EarlierAttempt& attempt : EarlierAttempts(run.dir))
    text += Line("before it", fmt::format("attempt {}: {}", attempt.number, OutcomeText(attempt)));
  text += Line("host", Distinct(run, [](const Process& p) { return p.host; }));
  text += Line("launcher", Distinct(run, [](const Process& p) { return p.launcher; }));
  text +=
      Line("MPI", Distinct(run, [](const Process& p) { return p.mpi_version.empty() ? p.mpi_abi : p.mpi_version; }));
  for (const auto& [api, versions] : Libraries(run))
    text += Line(api.c_str(), fmt::format("{}", fmt::join(versions, ", ")));
  text += Line("devices", Devices(run));
  for (const std::string& level : Levels(run)) text += Line("recorded", level);
  text += Clocks(run, timeline);
  for (const NodeTelemetry& node : run.nodes) text += Line("node", NodeText(node));
  if (timeline.realtime_ns()) text += Line("start", WallClockText(timeline.realtime_ns()));
  text += Line("duration", DurationText(timeline.end_ns()));
  if (WorldSize(run) >= 0) text += Line("ranks", fmt::format("{} of {}", run.processes.size(), WorldSize(run)));
  text += Line("missing", RanksText(MissingRanks(run)));
  for (const SpawnedWorld& world : run.spawned) text += Line("spawned", SpawnedText(run, world, ""));
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

// Children of the ranks that have no file of their own.
std::string Workers(const Run& run, const Terminal& terminal) {
  constexpr size_t kMostLines = 24;
  Table table({"rank", "DataLoader workers, its children"});
  size_t ranks = 0;
  for (const Process& process : run.processes) {
    LoaderWorkers workers = LoaderWorkersOf(process);
    if (workers.pids.empty() || ++ranks > kMostLines) continue;
    table.Add(
        {process.rank() >= 0 ? std::to_string(process.rank()) : "-",
         fmt::format("{} by {}: pids {}", workers.pids.size(), workers.start_method, fmt::join(workers.pids, ", "))});
  }
  if (ranks == 0) return "";
  std::string text = table.Text();
  size_t header = text.find('\n');
  return "\n" + terminal.Paint(Tone::kTitle, text.substr(0, header)) + text.substr(header) +
         (ranks > kMostLines ? fmt::format("… and of {} more ranks\n", ranks - kMostLines) : "");
}

// "split of MPI_COMM_WORLD" of "split#3 of MPI_COMM_WORLD".
std::string WithoutIndex(const std::string& name) {
  size_t mark = name.find('#'), end = mark == name.npos ? name.npos : name.find_first_not_of("0123456789", mark + 1);
  return end == name.npos || end == mark + 1 ? name : name.substr(0, mark) + name.substr(end);
}

// Communicators of one kind, role and size in one line each: a job may have thousands.
std::string Communicators(const Run& run, const Terminal& terminal) {
  constexpr size_t kMostLines = 24;
  Matching matching = MatchCollectives(run);
  Steps steps(run, matching);
  Roles roles(run, matching, steps);
  std::map<std::tuple<std::string, uint32_t, int>, std::pair<size_t, size_t>> kinds;  // → how many, the first
  std::vector<std::tuple<std::string, uint32_t, int>> order;
  for (size_t g = 0; g < matching.groups.size(); ++g) {
    const CommGroup& group = matching.groups[g];
    std::tuple kind(WithoutIndex(group.name), group.size, static_cast<int>(roles.of(g).role));
    auto [at, fresh] = kinds.try_emplace(kind, 0, g);
    ++at->second.first;
    if (fresh) order.push_back(kind);
  }
  if (order.empty()) return "";
  Table table({"communicator", "ranks", "how many", "collectives", "role", "because"});
  for (size_t i = 0; i < order.size() && i < kMostLines; ++i) {
    const auto& [count, first] = kinds[order[i]];
    const CommRole& role = roles.of(first);
    std::string name = RoleName(role.role);
    std::replace(name.begin(), name.end(), '_', '-');
    if (role.role != Role::kUnknown) name += fmt::format(" ({:.0f} %)", role.confidence * 100);
    table.Add({matching.groups[first].name, std::to_string(matching.groups[first].size), std::to_string(count),
               Grouped(matching.groups[first].longest), name, role.why});
  }
  std::string more = order.size() > kMostLines ? fmt::format("… and {} more\n", order.size() - kMostLines) : "";
  std::string text = table.Text();
  size_t header = text.find('\n');
  return "\n" + terminal.Paint(Tone::kTitle, text.substr(0, header)) + text.substr(header) + more;
}

}  // namespace

void PrintInfoText(const Run& run, Output& out) {
  const Terminal& terminal = out.terminal();
  std::string ranks = Ranks(run);
  size_t header = ranks.find('\n');
  out.Write(Header(run, terminal) + "\n" + terminal.Paint(Tone::kTitle, ranks.substr(0, header)) +
            ranks.substr(header));
  out.Write(Workers(run, terminal));
  out.Write(Communicators(run, terminal));
  std::string damage;
  for (const Process& process : run.processes) {
    for (const std::string& sentence : process.damage) damage += terminal.Paragraph(sentence, 2);
  }
  for (const std::string& sentence : run.unreadable) damage += terminal.Paragraph(sentence, 2);
  if (!damage.empty()) out.Write("\n" + terminal.Paint(Tone::kTitle, "damage") + "\n" + damage);
}

}  // namespace ddbg::analyzer
