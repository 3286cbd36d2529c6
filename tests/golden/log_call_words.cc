#include "tests/golden/log_call_words.h"

#include <bit>
#include <functional>
#include <map>

#include "analyzer/model/call_fields.h"
#include "tests/golden/log_text.h"

namespace ddbg::analyzer {
namespace {

uint32_t Datatype(Process* process, const std::string& name) {
  for (const auto& [id, type] : process->dtypes)
    if (type.name == name) return id;
  uint32_t id = static_cast<uint32_t>(process->dtypes.size() + 1);
  uint64_t size = name.find("DOUBLE") != std::string::npos || name.find("64") != std::string::npos ? 8 : 4;
  if (name == "MPI_BYTE" || name == "MPI_CHAR" || name == "ncclUint8" || name == "ncclInt8") size = 1;
  if (name == "ncclFloat16" || name == "ncclBfloat16") size = 2;
  process->dtypes[id] = {name, size, name, 1, std::hash<std::string>{}(name)};
  return id;
}

uint32_t MarkName(Process* process, const std::string& name) {
  auto& names = process->mark_names;
  for (const auto& [id, known] : names)
    if (known == name) return id;
  uint32_t id = static_cast<uint32_t>(names.size() + 1);
  names[id] = name;
  return id;
}

// inner<outer
uint32_t Stack(Process* process, const std::string& site) {
  std::hash<std::string> hash;
  std::vector<uint64_t> frames;
  for (const std::string& frame : Split(site, '<')) frames.push_back(0x2000 + (hash(frame) & 0xffffff) * 16);
  uint32_t id = static_cast<uint32_t>(hash(site) & 0x7fffffff) | 1;
  process->stacks_by_id[id] = frames;
  return id;
}

int32_t AddStream(Process* process, int32_t id) {
  auto [at, is_new] = process->streams.try_emplace(static_cast<uint32_t>(id));
  if (is_new) at->second.kind = "created", at->second.device = 0, at->second.flags = 1;
  return id;
}

uint8_t Op(const std::string& name) {
  static const std::map<std::string, uint8_t> ops = {{"SUM", kOpSum},   {"MAX", kOpMax}, {"MIN", kOpMin},
                                                     {"PROD", kOpProd}, {"AVG", kOpAvg}, {"PREMULSUM", kOpPreMulSum}};
  auto found = ops.find(name);
  return found == ops.end() ? static_cast<uint8_t>(kOpUser) : found->second;
}

// What a word speaks to: the call, and whose it is.
struct Subject {
  LogJob& job;
  int rank;
  CallWords& read;
  Call& call = read.call;
  Process* process() const { return &job.process(rank); }
};

// The ranks that a call on a window names, as a definition of their own.
void SetGroup(const Subject& s, const std::string& value) {
  Process& process = *s.process();
  Communicator group;
  group.id = static_cast<uint32_t>(process.comms.size() + 1);
  group.kind = "group";
  for (int rank : s.job.Who(value)) group.members.push_back(rank);
  group.size = static_cast<uint32_t>(group.members.size());
  s.call.aux = group.id;
  process.comms[group.id] = group;
}

using Argument = void (*)(const Subject&, const std::string& value);

void SetAux(const Subject& s, const std::string& value) { s.call.aux = std::stoull(value); }
void SetCount(const Subject& s, const std::string& value) { s.call.count = std::stoull(value); }
void SetPeer(const Subject& s, const std::string& value) {
  s.call.peer = value == "any" ? kAnySource : std::stoi(value);
}
void SetRequests(const Subject& s, const std::string& value) {
  OpenDetail& detail = s.read.detail;
  for (const std::string& operation : Split(value, ',')) detail.requests.push_back(std::stoull(operation));
  detail.request_count = static_cast<uint32_t>(detail.requests.size());
}

// By the name before the `=`.
const std::map<std::string, Argument>& Arguments() {
  using S = const Subject&;
  using V = const std::string&;
  static const std::map<std::string, Argument> arguments = {
      {"count", SetCount},
      {"polls", SetCount},
      {"bytes", SetCount},
      {"number", [](S s, V value) { s.call.count = static_cast<uint64_t>(std::stoll(value)); }},
      {"type", [](S s, V value) { s.call.dtype = Datatype(s.process(), value); }},
      {"op", [](S s, V value) { s.call.op = Op(value); }},
      {"root", SetPeer},
      {"peer", SetPeer},
      {"tag", [](S s, V value) { s.call.tag = value == "any" ? kAnyTag : std::stoi(value); }},
      {"level", [](S s, V value) { s.call.tag = std::stoi(value); }},
      {"comm", [](S s, V value) { s.call.comm = s.job.comms.Id(s.rank, value); }},
      {"stream", [](S s, V value) { s.call.tag = AddStream(s.process(), std::stoi(value)); }},
      {"event", SetAux},
      {"state", SetAux},
      {"kind", SetAux},
      {"graph", SetAux},
      {"name", [](S s, V value) { s.call.aux |= MarkName(s.process(), value); }},
      {"value", [](S s, V value) { s.call.count = std::bit_cast<uint64_t>(std::stod(value)); }},
      {"text", [](S s, V value) { s.call.aux |= uint64_t{MarkName(s.process(), Spaced(value))} << 32; }},
      {"for", [](S s, V value) { s.call.duration_ns = static_cast<int64_t>(std::stod(value) * 1e9); }},
      {"thread", [](S s, V value) { s.call.thread = static_cast<uint32_t>(std::stoul(value)); }},
      {"result", [](S s, V value) { s.call.result = std::stoi(value); }},
      {"waits", SetRequests},
      {"message", [](S s, V value) { s.call.seq = static_cast<uint32_t>(std::stoul(value)); }},
      {"group", SetGroup},
      {"new", [](S s, V value) { s.read.makes = value; }},
      {"as", [](S s, V value) { s.read.claimed_rank = std::stoi(value); }},
      {"nranks", [](S s, V value) { s.read.claimed_size = std::stoi(value); }},
      {"device", [](S s, V value) { s.read.claimed_device = value; }},
  };
  return arguments;
}

}  // namespace

bool ReadWord(LogJob* job, int rank, const std::string& word, CallWords* read) {
  Call& call = read->call;
  if (word == "open") return call.duration_ns = kNeverReturned, true;
  if (word == "unwritten") return read->unwritten = true;
  if (word == "grouped") return call.flags |= kFlagGrouped, true;
  if (word == "captured") return call.flags |= kFlagCapturing, true;
  if (word == "exclusive") return call.tag = 1, true;
  if (word == "shared") return call.tag = 2, true;
  if (word == "nocheck") return (call.info().kind == CallKind::Lock ? call.aux = 1 : call.tag = 1), true;
  if (word == "refused") return call.result = 1, call.flags |= kFlagNothingDone, true;
  if (word == "nothing") return call.flags |= kFlagNothingDone, true;
  if (word[0] == '@') return call.stack = Stack(&job->process(rank), word.substr(1)), true;
  if (word[0] == '#') return call.aux = std::stoull(word.substr(1)), true;
  size_t equals = word.find('=');
  if (equals == std::string::npos) return false;
  auto argument = Arguments().find(word.substr(0, equals));
  if (argument == Arguments().end()) return false;
  argument->second({*job, rank, *read}, word.substr(equals + 1));
  return true;
}

}  // namespace ddbg::analyzer
