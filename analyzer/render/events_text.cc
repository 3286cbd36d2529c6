#include <fmt/format.h>

#include <algorithm>

#include "analyzer/model/call_fields.h"
#include "analyzer/model/comm_name.h"
#include "analyzer/model/format.h"
#include "analyzer/model/refused.h"
#include "analyzer/render/events.h"

namespace ddbg::analyzer {
namespace {

// What the cells of a line are made of.
struct Row {
  const Run& run;
  const Process& process;
  const Event& event;
  const Call& call;
  CallFields fields;
  StackViews* views;
};

std::string TimeCell(const Row& row) { return fmt::format("{:.6f}", static_cast<double>(row.event.at_ns) / 1e9); }

std::string RankCell(const Row& row) {
  return row.process.rank() >= 0 ? std::to_string(row.process.rank()) : fmt::format("pid {}", row.process.pid);
}

std::string ThreadCell(const Row& row) {
  auto tid = row.process.tid_by_thread.find(row.call.thread);
  return tid == row.process.tid_by_thread.end() ? "" : std::to_string(tid->second);
}

std::string StepCell(const Row& row) { return row.event.step < 0 ? "" : std::to_string(row.event.step); }

std::string DurationCell(const Row& row) {
  return row.call.open() ? "never returned" : DurationText(row.call.duration_ns);
}

std::string CallCell(const Row& row) {
  std::string name = row.call.call >= kFirstCall ? CallName(row.process, row.call) : std::string(KindName(row.call));
  if (!row.call.known() || row.call.info().kind != CallKind::Sendrecv) return name;
  return name + (row.call.flags & kFlagSecondHalf ? " recv" : " send");
}

std::string CommCell(const Row& row) {
  std::string name = row.fields.comm ? CommName(row.process, row.call.comm) : "";
  return row.fields.seq ? fmt::format("{} #{}", name, row.call.seq) : name;
}

std::string ContentText(const Row& row) {
  const Call& call = row.call;
  std::string type = DatatypeName(row.process, call.dtype);
  if (row.fields.count) return fmt::format("{} {}", static_cast<int64_t>(call.count), type.empty() ? "items" : type);
  if (row.fields.bytes) return BytesText(call.count);
  return row.call.known() && !type.empty() && !row.fields.kernel && !row.fields.graph ? type : "";
}

// What only calls of NCCL and CUDA have.
void AddDeviceParts(const Row& row, std::vector<std::string>* parts) {
  const Call& call = row.call;
  const CallFields& fields = row.fields;
  auto add = [&](bool has, std::string part) {
    if (has && !part.empty()) parts->push_back(std::move(part));
  };
  add(fields.color, fmt::format("color {}", call.tag));
  add(fields.operations, Counted(call.count, "operation"));
  add(fields.group, fmt::format("group {}", call.aux));
  add(fields.state, std::string(NcclResultName(call.aux)));
  if (fields.kernel) add(true, KernelName(row.process, call.dtype));
  add(fields.kernel, fmt::format("{} x {}", call.count, std::max(call.peer, 0)));
  add(fields.copy_kind, std::string(CopyKindName(call)));
  add(fields.stream, StreamName(row.process, call.tag));
  add(fields.device && call.peer >= 0, fmt::format("device {}", call.peer));
  add(fields.event, fmt::format("event {:#x}", call.aux));
  add(fields.graph && call.aux != 0, fmt::format("graph {:#x}", call.aux));
  add(IsNccl(call) && (call.flags & kFlagGrouped), "grouped");
  add((call.flags & kFlagCapturing) != 0, "capturing");
  add((call.flags & kFlagNested) != 0, "nested");
}

// "100 MPI_INT, MPI_SUM, to 3, tag 7, result 15"
std::string ArgumentsCell(const Row& row) {
  const Call& call = row.call;
  const CallFields& fields = row.fields;
  std::vector<std::string> parts;
  if (std::string content = ContentText(row); !content.empty()) parts.push_back(content);
  if (fields.op && call.op) parts.emplace_back(OpName(call));
  if (fields.root) parts.push_back("root " + PeerText(call.peer));
  if (fields.peer && call.peer != kNoPeer) parts.push_back("peer " + PeerText(call.peer));
  if (fields.tag) parts.push_back("tag " + TagText(call.tag));
  if (fields.new_comm) parts.push_back("makes " + CommName(row.process, static_cast<uint32_t>(call.aux)));
  if (fields.requests) parts.push_back(Counted(call.count, "request"));
  if (fields.polls) parts.push_back(Counted(call.count, "poll") + " found nothing");
  if (fields.code) parts.push_back(fmt::format("code {}", call.tag));
  if (fields.step) parts.push_back(std::to_string(static_cast<int64_t>(call.count)));
  if (fields.level) parts.push_back(fmt::format("level {}", call.tag));
  if (fields.name) parts.push_back(MarkName(row.process, call));
  if (fields.ranks) parts.push_back(fmt::format("rank {} of {}", call.peer, call.count));
  if (fields.value) parts.push_back(fmt::format("{}", ValueOf(call)));
  if (fields.text) parts.push_back(MarkText(row.process, call));
  if (fields.number) parts.push_back(std::to_string(static_cast<int64_t>(call.count)));
  if (IsNccl(call) || IsCuda(call)) AddDeviceParts(row, &parts);
  if (call.call == kCallLost) parts.push_back(Counted(call.count, "record"));
  if (call.known() && !call.open() && call.result != 0) parts.push_back("result " + ResultText(call));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string SourceCell(const Row& row) {
  if (!row.views || !row.call.stack) return "";
  return DescribeFrame(row.views->Of(row.process, row.call.stack).source_frame());
}

struct Column {
  const char* header;
  size_t width;  // characters; a longer cell pushes the rest of its line
  bool right;
  std::string (*cell)(const Row& row);
};

constexpr Column kTime = {"time s", 12, true, TimeCell};
constexpr Column kRank = {"rank", 4, true, RankCell};
constexpr Column kStep = {"step", 5, true, StepCell};
constexpr Column kThread = {"thread", 7, true, ThreadCell};
constexpr Column kDuration = {"duration", 14, true, DurationCell};
constexpr Column kCall = {"call", 20, false, CallCell};
constexpr Column kComm = {"communicator", 20, false, CommCell};
constexpr Column kArguments = {"arguments", 34, false, ArgumentsCell};
constexpr Column kSource = {"from", 0, false, SourceCell};

std::vector<Column> ColumnsFor(const Run& run, const Steps* steps, bool stacks) {
  bool threads = false;
  for (const Process& process : run.processes) threads = threads || process.tid_by_thread.size() > 1;
  std::vector<Column> columns = {kTime, kRank};
  if (steps && steps->source() != StepSource::kNone) columns.push_back(kStep);
  if (threads) columns.push_back(kThread);
  columns.insert(columns.end(), {kDuration, kCall, kComm, kArguments});
  if (stacks) columns.push_back(kSource);
  return columns;
}

template <typename Cell>
std::string Line(const std::vector<Column>& columns, Cell cell) {
  std::string line;
  for (const Column& column : columns) {
    if (!line.empty()) line += "  ";
    line += column.right ? fmt::format("{:>{}}", cell(column), column.width)
                         : fmt::format("{:<{}}", cell(column), column.width);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

Tone ToneOf(const Call& call) {
  if (call.known() && call.open()) return Tone::kBad;
  bool failed = call.known() && call.result != 0 && (IsRefused(call) || !(call.flags & kFlagNothingDone));
  return failed || call.call == kCallLost ? Tone::kDoubt : Tone::kPlain;
}

}  // namespace

void PrintEventsText(const Run& run, const Timeline& timeline, const EventFilter& filter, StackViews* views,
                     Output& out, const Steps* steps) {
  std::vector<Column> columns = ColumnsFor(run, steps, views != nullptr);
  const Terminal& terminal = out.terminal();
  auto write = [&](Tone tone, std::string line) {
    if (!terminal.colored()) return out.Write(line);
    line.pop_back();
    return out.Write(terminal.Paint(tone, line)) && out.Write("\n");
  };
  write(Tone::kTitle, Line(columns, [](const Column& column) { return std::string(column.header); }));
  ForEachEvent(
      run, timeline, filter,
      [&](const Event& event) {
        const Process& process = run.processes[event.process];
        const Call& call = process.calls[event.call];
        Row row{run, process, event, call, FieldsOf(call), views};
        return write(ToneOf(call), Line(columns, [&](const Column& column) { return column.cell(row); }));
      },
      steps);
}

}  // namespace ddbg::analyzer
