#include "tests/golden/log_reader.h"

#include <algorithm>
#include <functional>
#include <sstream>

#include "analyzer/call_fields.h"

namespace ddbg::analyzer {
namespace {

constexpr int64_t kMs = 1'000'000;

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

std::string Trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(" \t"));
  text.erase(text.find_last_not_of(" \t\r") + 1);
  return text;
}

class Reader {
 public:
  GoldenLog Read(const std::string& text) {
    std::vector<std::string> lines = Split(text, '\n');
    Lines(lines, 0, lines.size());
    Finish();
    return std::move(log_);
  }

 private:
  // Lines [from, to); braces of `repeat` nest.
  void Lines(const std::vector<std::string>& lines, size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) {
      std::string line = Trimmed(lines[i].substr(0, lines[i].find('#') == 0 ? 0 : std::string::npos));
      if (line.empty() || line[0] == '#') continue;
      if (line.rfind("repeat ", 0) == 0) {
        size_t end = i + 1;
        for (int depth = 1; end < to; ++end) {
          std::string inner = Trimmed(lines[end]);
          if (inner.rfind("repeat ", 0) == 0) ++depth;
          if (inner == "}" && --depth == 0) break;
        }
        for (int n = std::stoi(line.substr(7)); n > 0; --n) Lines(lines, i + 1, end);
        i = end;
      } else if (!Line(line) && log_.error.empty()) {
        log_.error = line;
      }
    }
  }

  bool Line(const std::string& line) {
    if (line.rfind("ranks ", 0) == 0) return Ranks(Split(line.substr(6), ' '));
    if (line.rfind("nccl ", 0) == 0) return NcclCommunicator(Split(line.substr(5), ' '));
    if (line.rfind("stream ", 0) == 0) return DefineStream(Split(line.substr(7), ' '));
    if (line.rfind("library ", 0) == 0) return ForRanks(line.substr(8), &Reader::AddLibrary);
    if (line.rfind("env ", 0) == 0) return ForRanks(line.substr(4), &Reader::AddVariable);
    if (line == "completions") return SeeCompletions();
    if (line.rfind("at ", 0) == 0) {
      now_ = static_cast<int64_t>(std::stod(line.substr(3)) * 1e9);
      return true;
    }
    if (line.rfind("expect ", 0) == 0) return Expect(Split(line.substr(7), ' '));
    if (line.rfind("end ", 0) == 0) return End(line.substr(4));
    size_t colon = line.find(':');
    if (colon == std::string::npos) return false;
    now_ += kMs;
    for (int rank : Who(line.substr(0, colon)))
      if (!Call(rank, Split(line.substr(colon + 1), ' '))) return false;
    return true;
  }

  bool Ranks(const std::vector<std::string>& words) {
    int n = std::stoi(words[0]);
    nccl_only_ = words.size() > 1 && words[1] == "nccl";
    log_.run.run_id = "golden";
    for (int rank = 0; rank < n; ++rank) {
      Process process;
      process.run_id = "golden";
      process.host = "node0";
      process.pid = 1000 + rank;
      process.launcher_rank = process.local_rank = rank;
      process.launcher_world_size = n;
      if (!nccl_only_) process.mpi_rank = rank, process.mpi_size = n, process.mpi_abi = "Open MPI";
      process.devices.push_back({0, "0000:0" + std::to_string(rank) + ":00.0", "", "GPU"});
      process.modules.push_back({"/home/user/app", 0, 0x1000, 1ull << 40, "build"});
      log_.run.processes.push_back(process);
    }
    std::vector<int32_t> all(n);
    for (int i = 0; i < n; ++i) all[i] = i;
    for (int rank = 0; rank < n && !nccl_only_; ++rank) AddComm(rank, "MPI_COMM_WORLD", all, "world", "");
    return true;
  }

  // dp:0-3, and it is there on all of them, made before the log begins
  bool NcclCommunicator(const std::vector<std::string>& words) {
    size_t colon = words[0].find(':');
    if (colon == std::string::npos) return false;
    std::vector<int32_t> members;
    for (int member : Who(words[0].substr(colon + 1))) members.push_back(member);
    for (int rank : members) {
      Communicator& comm = P(rank).comms[AddComm(rank, words[0].substr(0, colon), members, "init", "")];
      MakeNccl(rank, &comm);
      comm.blocking = std::find(words.begin(), words.end(), "nonblocking") == words.end();
    }
    return true;
  }

  void MakeNccl(int rank, Communicator* comm) {
    comm->nccl = true;
    comm->members.clear();
    comm->device = 0;
    comm->device_id = P(rank).devices[0].bus_id;
  }

  // 4 created|blocking|legacy|per-thread
  bool DefineStream(const std::vector<std::string>& words) {
    if (words.size() != 2) return false;
    for (Process& process : log_.run.processes) {
      Stream& stream = process.streams[static_cast<uint32_t>(std::stoul(words[0]))];
      stream.device = 0;
      stream.kind = words[1] == "blocking" ? "created" : words[1];
      stream.flags = words[1] == "created";
    }
    return true;
  }

  bool ForRanks(const std::string& text, void (Reader::*add)(int, const std::string&)) {
    size_t colon = text.find(':');
    if (colon == std::string::npos) return false;
    for (int rank : Who(text.substr(0, colon))) (this->*add)(rank, Trimmed(text.substr(colon + 1)));
    return true;
  }

  void AddLibrary(int rank, const std::string& text) {
    size_t space = text.find(' ');
    P(rank).libraries.push_back({text.substr(0, space), "", text.substr(space + 1), "/lib"});
  }

  void AddVariable(int rank, const std::string& text) {
    size_t equals = text.find('=');
    P(rank).environment.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }

  bool SeeCompletions() {
    for (Process& process : log_.run.processes) process.levels.push_back({"GPU completion", true, ""});
    return true;
  }

  Process& P(int rank) { return log_.run.processes[rank]; }

  std::vector<int> Who(const std::string& text) {
    std::vector<int> ranks;
    if (Trimmed(text) == "all")
      for (size_t i = 0; i < log_.run.processes.size(); ++i) ranks.push_back(static_cast<int>(i));
    else
      for (const std::string& part : Split(Trimmed(text), ',')) {
        size_t dash = part.find('-');
        int first = std::stoi(part), last = dash == std::string::npos ? first : std::stoi(part.substr(dash + 1));
        for (int r = first; r <= last; ++r) ranks.push_back(r);
      }
    return ranks;
  }

  uint32_t AddComm(int rank, const std::string& name, const std::vector<int32_t>& members, const std::string& kind,
                   const std::string& parent) {
    Process& p = P(rank);
    Communicator comm;
    comm.id = static_cast<uint32_t>(p.comms.size() + 1);
    comm.uid = std::hash<std::string>{}(name + "/" + std::to_string(made_[name + std::to_string(rank)]++)) | 1;
    comm.name = name;
    comm.kind = kind;
    comm.size = static_cast<uint32_t>(members.size());
    comm.members = members;
    comm.rank = static_cast<int32_t>(std::find(members.begin(), members.end(), rank) - members.begin());
    if (!parent.empty()) comm.parent = ids_[rank][parent], comm.parent_uid = p.comms[comm.parent].uid;
    p.comms[comm.id] = comm;
    ids_[rank][name] = comm.id;
    return comm.id;
  }

  uint32_t Type(int rank, const std::string& name) {
    Process& p = P(rank);
    for (const auto& [id, type] : p.dtypes)
      if (type.name == name) return id;
    uint32_t id = static_cast<uint32_t>(p.dtypes.size() + 1);
    uint64_t size = name.find("DOUBLE") != std::string::npos || name.find("64") != std::string::npos ? 8 : 4;
    if (name == "MPI_BYTE" || name == "MPI_CHAR" || name == "ncclUint8" || name == "ncclInt8") size = 1;
    if (name == "ncclFloat16" || name == "ncclBfloat16") size = 2;
    p.dtypes[id] = {name, size, name, 1, std::hash<std::string>{}(name)};
    return id;
  }

  uint32_t Stack(int rank, const std::string& site) {
    std::hash<std::string> hash;
    std::vector<uint64_t> frames;
    for (const std::string& frame : Split(site, '<')) frames.push_back(0x2000 + (hash(frame) & 0xffffff) * 16);
    uint32_t id = static_cast<uint32_t>(hash(site) & 0x7fffffff) | 1;
    P(rank).stacks_by_id[id] = frames;
    return id;
  }

  static uint8_t Op(const std::string& name) {
    static const std::map<std::string, uint8_t> ops = {{"SUM", kOpSum},   {"MAX", kOpMax}, {"MIN", kOpMin},
                                                       {"PROD", kOpProd}, {"AVG", kOpAvg}, {"PREMULSUM", kOpPreMulSum}};
    auto found = ops.find(name);
    return found == ops.end() ? static_cast<uint8_t>(kOpUser) : found->second;
  }

  bool Call(int rank, const std::vector<std::string>& words) {
    if (words.empty()) return false;
    if (words[0] == "completion") return Completion(rank, words);
    analyzer::Call call;
    bool mpi = words[0].rfind("nccl", 0) != 0 && words[0].rfind("cu", 0) != 0;
    size_t index = 0;
    while (index < kCallCount && kCalls[index].name != (mpi ? "MPI_" : "") + words[0]) ++index;
    if (index == kCallCount) return false;
    call.call = static_cast<uint16_t>(kFirstCall + index);
    call.start_ns = now_ + rank * 1000;
    call.duration_ns = 100'000;
    CallKind kind = call.info().kind;
    bool has_comm = IsCollective(kind) || kind == CallKind::Send || kind == CallKind::Recv ||
                    kind == CallKind::Sendrecv || kind == CallKind::Probe || kind == CallKind::CommFree;
    if (has_comm && mpi) call.comm = ids_[rank]["MPI_COMM_WORLD"];
    if (kind == CallKind::GroupStart || kind == CallKind::GroupEnd) call.tag = 1;
    if (kind == CallKind::DeviceSync) call.peer = 0;
    OpenDetail detail;
    std::string made;
    for (size_t i = 1; i < words.size(); ++i)
      if (!Word(rank, words[i], &call, &detail, &made)) return false;
    if (IsCollective(call.info().kind) && call.info().shape != CallShape::CreateGroup)
      call.seq = seq_[{rank, call.comm}]++;
    if (!made.empty()) Make(rank, made, &call);
    if (call.info().kind == CallKind::Abort) P(rank).end.abort_called = true;
    bool frees = call.info().kind == CallKind::CommFree || (call.info().kind == CallKind::CommInit && !Accepted(call));
    if (frees) P(rank).comms[call.comm].freed = true;
    if (!detail.requests.empty()) P(rank).open_detail[P(rank).calls.size()] = detail;
    P(rank).calls.push_back(call);
    P(rank).last_seen_ns = std::max(P(rank).last_seen_ns, now_);
    return true;
  }

  bool Word(int rank, const std::string& word, analyzer::Call* call, OpenDetail* detail, std::string* made) {
    if (word == "open") return call->duration_ns = kNeverReturned, true;
    if (word == "grouped") return call->flags |= kFlagGrouped, true;
    if (word == "captured") return call->flags |= kFlagCapturing, true;
    if (word == "nothing") return call->flags |= kFlagNothingDone, true;
    if (word[0] == '@') return call->stack = Stack(rank, word.substr(1)), true;
    if (word[0] == '#') return call->aux = std::stoull(word.substr(1)), true;
    size_t equals = word.find('=');
    if (equals == std::string::npos) return false;
    std::string key = word.substr(0, equals), value = word.substr(equals + 1);
    if (key == "count")
      call->count = std::stoull(value);
    else if (key == "type")
      call->dtype = Type(rank, value);
    else if (key == "op")
      call->op = Op(value);
    else if (key == "root" || key == "peer")
      call->peer = value == "any" ? kAnySource : std::stoi(value);
    else if (key == "tag")
      call->tag = value == "any" ? kAnyTag : std::stoi(value);
    else if (key == "comm")
      call->comm = ids_[rank][value];
    else if (key == "stream")
      call->tag = std::stoi(value), AddStream(rank, call->tag);
    else if (key == "event" || key == "state" || key == "kind" || key == "graph")
      call->aux = std::stoull(value);
    else if (key == "polls" || key == "bytes")
      call->count = std::stoull(value);
    else if (key == "for")
      call->duration_ns = static_cast<int64_t>(std::stod(value) * 1e9);
    else if (key == "thread")
      call->thread = static_cast<uint32_t>(std::stoul(value));
    else if (key == "as")
      own_rank_ = std::stoi(value);
    else if (key == "nranks")
      rank_count_ = std::stoi(value);
    else if (key == "device")
      device_ = value;
    else if (key == "result")
      call->result = std::stoi(value);
    else if (key == "waits") {
      for (const std::string& operation : Split(value, ',')) detail->requests.push_back(std::stoull(operation));
      detail->request_count = static_cast<uint32_t>(detail->requests.size());
    } else if (key == "new")
      *made = value;
    else
      return false;
    return true;
  }

  void AddStream(int rank, int32_t id) {
    auto [at, is_new] = P(rank).streams.try_emplace(static_cast<uint32_t>(id));
    if (is_new) at->second.kind = "created", at->second.device = 0, at->second.flags = 1;
  }

  bool Completion(int rank, const std::vector<std::string>& words) {
    analyzer::Call call;
    call.call = kCallCompletion;
    call.start_ns = now_ + rank * 1000;
    if (words.size() != 2 || words[1][0] != '#') return false;
    call.aux = std::stoull(words[1].substr(1));
    P(rank).calls.push_back(call);
    return true;
  }

  void Make(int rank, const std::string& made, analyzer::Call* call) {
    size_t colon = made.find(':');
    std::vector<int32_t> members;
    for (int member : Who(made.substr(colon + 1))) members.push_back(member);
    std::string parent = P(rank).comms[call->comm].name;
    bool init = call->info().kind == CallKind::CommInit;
    uint32_t id = AddComm(rank, made.substr(0, colon), members, init ? "init" : "split", init ? "" : parent);
    Communicator& comm = P(rank).comms[id];
    if (IsNccl(*call)) MakeNccl(rank, &comm);
    if (!init) return static_cast<void>(call->aux = id);
    call->comm = id;
    comm.name.clear();
    if (own_rank_ >= 0) comm.rank = own_rank_;
    if (rank_count_ > 0) comm.size = static_cast<uint32_t>(rank_count_);
    if (!device_.empty()) comm.device_id = device_;
    call->count = comm.size;
    call->peer = comm.rank;
    own_rank_ = rank_count_ = -1;
    device_.clear();
  }

  bool End(const std::string& text) {
    size_t colon = text.find(':');
    if (colon == std::string::npos) return false;
    std::vector<std::string> words = Split(text.substr(colon + 1), ' ');
    bool alone = words.size() == 3 && words[2] == "alone", together = words.size() == 3 && words[2] == "together";
    if (words.size() != 2 && !alone && !together) return false;
    now_ += kMs;
    bool first = true;
    for (int rank : Who(text.substr(0, colon))) {
      ProcessEnd& end = P(rank).end;
      end.how = words[0] == "exit"   ? ProcessEnd::kExited
                : words[0] == "gone" ? ProcessEnd::kGone
                                     : ProcessEnd::kSignaled;
      end.code = std::stoi(words[1]);
      end.t_ns = now_ + rank * 1000;
      if (first && (alone || together)) {
        end.peers = static_cast<uint32_t>(log_.run.processes.size() - 1);
        end.peers_running = alone ? end.peers : 0;
      }
      first = false;
    }
    return true;
  }

  bool Expect(const std::vector<std::string>& words) {
    log_.verdict = words[0];
    for (size_t i = 1; i < words.size(); ++i) {
      size_t equals = words[i].find('=');
      if (equals == std::string::npos) return false;
      log_.expected[words[i].substr(0, equals)] = words[i].substr(equals + 1);
    }
    return true;
  }

  void Finish() {
    for (Process& process : log_.run.processes) {
      if (process.open_detail.empty())
        std::stable_sort(process.calls.begin(), process.calls.end(),
                         [](const analyzer::Call& a, const analyzer::Call& b) { return a.start_ns < b.start_ns; });
      if (process.end.how == ProcessEnd::kRunning) log_.run.live = true, process.last_seen_ns = now_;
    }
  }

  GoldenLog log_;
  int64_t now_ = 0;
  bool nccl_only_ = false;
  int own_rank_ = -1, rank_count_ = -1;  // of the communicator that the line makes
  std::string device_;
  std::map<int, std::map<std::string, uint32_t>> ids_;
  std::map<std::string, int> made_;
  std::map<std::pair<int, uint32_t>, uint32_t> seq_;
};

}  // namespace

GoldenLog ReadGoldenLog(const std::string& text) { return Reader().Read(text); }

}  // namespace ddbg::analyzer
