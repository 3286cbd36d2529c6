#include "analyzer/verdict/playbook_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "analyzer/load/run_dirs.h"
#include "analyzer/model/comm_name.h"

namespace ddbg::analyzer {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 10> kPlaceholders = {"run", "rank", "peer", "step", "comm",
                                                            "seq", "call", "host", "pid",  "live_pid"};

// As a shell takes it for one word.
std::string Quoted(const std::string& value) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!value.empty() && value.find_first_not_of(kPlain) == std::string::npos) return value;
  std::string quoted = "'";
  for (char c : value) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// A rank that is not to blame, to compare with: the lowest that was traced.
int32_t Peer(const Run& run, const Finding& finding) {
  int32_t peer = -1;
  for (const Process& process : run.processes) {
    int32_t rank = process.rank();
    const std::vector<int32_t>& culprits = finding.culprit_ranks;
    if (rank < 0 || rank == finding.first.rank || std::find(culprits.begin(), culprits.end(), rank) != culprits.end())
      continue;
    if (peer < 0 || rank < peer) peer = rank;
  }
  return peer;
}

// Names that people gave are as good as ids, unless there are several of one name.
std::string CommText(const Run& run, const BadEvent& event) {
  std::set<uint64_t> uids;
  for (const Process& process : run.processes)
    for (const auto& [id, comm] : process.comms)
      if (comm.uid && CommName(process, id) == event.comm) uids.insert(comm.uid);
  return uids.size() > 1 && event.comm_uid ? CommUidText(event.comm_uid) : event.comm;
}

// The rank that a person would attach to: the culprit, if its process was seen.
const Process* Subject(const Run& run, const Finding& finding) {
  const Process* first = finding.first.process == kNoIndex ? nullptr : &run.processes[finding.first.process];
  int32_t rank = finding.culprit_ranks.empty() ? finding.first.rank : finding.culprit_ranks[0];
  if (first && first->rank() == rank) return first;
  for (const Process& process : run.processes)
    if (process.rank() == rank && rank >= 0) return &process;
  return finding.culprit_ranks.empty() ? first : nullptr;
}

std::string Replaced(std::string_view text, const PlaybookValues& values, Quoting quoting, bool* any, bool* lacks) {
  std::string filled;
  for (size_t at = 0; at < text.size(); ++at) {
    size_t end = text[at] == '{' ? text.find('}', at) : text.npos;
    std::string_view name = end == text.npos ? std::string_view() : text.substr(at + 1, end - at - 1);
    if (!IsPlaceholder(name)) {
      filled += text[at];
      continue;
    }
    auto value = values.find(name);
    *any = true;
    *lacks = *lacks || value == values.end();
    if (value != values.end())
      filled += quoting == Quoting::kShell && name != "run" ? Quoted(value->second) : value->second;
    at = end;
  }
  return filled;
}

std::vector<std::string> FilledList(const std::vector<std::string>& texts, const PlaybookValues& values,
                                    Quoting quoting) {
  std::vector<std::string> filled;
  for (const std::string& text : texts)
    if (std::optional<std::string> one = Fill(text, values, quoting)) filled.push_back(std::move(*one));
  return filled;
}

}  // namespace

bool IsPlaceholder(std::string_view name) {
  return std::find(kPlaceholders.begin(), kPlaceholders.end(), name) != kPlaceholders.end();
}

std::string RunName(const Run& run) {
  std::error_code error;
  std::set<std::string> dirs;
  for (const Process& process : run.processes)
    if (!process.file.empty()) dirs.insert(fs::path(process.file).parent_path());
  if (dirs.empty()) dirs.insert(run.dir);
  std::string run_dir = RunsDirectory() + "/" + run.run_id;
  bool by_id = dirs.size() == 1 && !run.run_id.empty() &&
               (dirs.begin()->empty() ? run.dir.empty() : fs::equivalent(LastAttempt(run_dir), *dirs.begin(), error));
  if (by_id) return Quoted(run.run_id);
  std::string names;
  for (const std::string& dir : dirs) names += (names.empty() ? "" : " ") + Quoted(dir.empty() ? "." : dir);
  return names;
}

PlaybookValues ValuesOf(const Run& run, const Finding& finding) {
  const BadEvent& event = finding.first;
  PlaybookValues values;
  values["run"] = RunName(run);
  int32_t rank = finding.culprit_ranks.empty() ? event.rank : finding.culprit_ranks[0];
  if (std::find(finding.culprit_ranks.begin(), finding.culprit_ranks.end(), event.rank) != finding.culprit_ranks.end())
    rank = event.rank;
  if (rank >= 0) values["rank"] = std::to_string(rank);
  if (int32_t peer = Peer(run, finding); peer >= 0) values["peer"] = std::to_string(peer);
  if (event.step >= 0) values["step"] = std::to_string(event.step);
  if (!event.comm.empty()) values["comm"] = CommText(run, event);
  if (event.seq >= 0) values["seq"] = std::to_string(event.seq);
  if (!event.call_name.empty()) values["call"] = event.call_name;
  if (const Process* subject = Subject(run, finding)) {
    if (!subject->host.empty()) values["host"] = subject->host;
    if (subject->pid > 0) values["pid"] = std::to_string(subject->pid);
    if (subject->pid > 0 && subject->end.how == ProcessEnd::kRunning) values["live_pid"] = values["pid"];
  }
  return values;
}

std::optional<std::string> Fill(std::string_view text, const PlaybookValues& values, Quoting quoting) {
  std::string filled;
  bool any = false, lacks = false;
  while (!text.empty()) {
    size_t open = text.find('['), close = open == text.npos ? open : text.find(']', open);
    std::string_view plain = close == text.npos ? text : text.substr(0, open);
    filled += Replaced(plain, values, quoting, &any, &lacks);
    if (close == text.npos) break;
    bool has = false, part_lacks = false;
    std::string part = Replaced(text.substr(open + 1, close - open - 1), values, quoting, &has, &part_lacks);
    if (!has)
      filled += "[" + part + "]";  // brackets of the text's own
    else if (!part_lacks)
      filled += part;
    text.remove_prefix(close + 1);
  }
  if (lacks) return std::nullopt;
  return filled;
}

Playbook Filled(const Playbook& playbook, const PlaybookValues& values) {
  Playbook filled = playbook;
  filled.queries = FilledList(playbook.queries, values, Quoting::kShell);
  filled.captures = FilledList(playbook.captures, values, Quoting::kShell);
  filled.next_steps = FilledList(playbook.next_steps, values, Quoting::kNone);
  filled.reduction = Fill(playbook.reduction, values, Quoting::kNone).value_or("");
  filled.owner = Fill(playbook.owner, values, Quoting::kNone).value_or("");
  return filled;
}

}  // namespace ddbg::analyzer
