#include "tests/golden/log_calls.h"

#include <algorithm>

#include "analyzer/model/call_fields.h"
#include "analyzer/model/refused.h"
#include "tests/golden/log_call_words.h"

namespace ddbg::analyzer {
namespace {

// By its name: MPI's without their prefix. kCallCount if there is none.
size_t CallNamed(const std::string& name) {
  bool mpi = !name.starts_with("nccl") && !name.starts_with("cu") && !name.starts_with("ddbg");
  size_t index = 0;
  while (index < kCallCount && kCalls[index].name != (mpi ? "MPI_" : "") + name) ++index;
  return index;
}

// With what it has where the words do not say otherwise.
Call BeginCall(const LogJob& job, int rank, size_t index) {
  Call call;
  call.call = static_cast<uint16_t>(kFirstCall + index);
  call.start_ns = job.now_ns + rank * 1000;
  CallKind kind = call.info().kind;
  call.duration_ns = IsMark(kind) ? 0 : 100'000;
  bool has_comm = IsCollective(kind) || kind == CallKind::Send || kind == CallKind::Recv ||
                  kind == CallKind::Sendrecv || kind == CallKind::Probe || kind == CallKind::Mrecv ||
                  kind == CallKind::CommFree;
  if (has_comm && call.info().api == Api::Mpi) call.comm = job.comms.Id(rank, "MPI_COMM_WORLD");
  if (kind == CallKind::GroupStart || kind == CallKind::GroupEnd) call.tag = 1;
  if (kind == CallKind::DeviceSync) call.peer = 0;
  return call;
}

// completion #7
bool AddCompletion(LogJob* job, int rank, const std::vector<std::string>& words) {
  Call call;
  call.call = kCallCompletion;
  call.start_ns = job->now_ns + rank * 1000;
  if (words.size() != 2 || words[1][0] != '#') return false;
  call.aux = std::stoull(words[1].substr(1));
  job->process(rank).calls.push_back(call);
  return true;
}

// The communicator that the call makes.
void MakeComm(LogJob* job, int rank, CallWords* words) {
  Call& call = words->call;
  Process& process = job->process(rank);
  size_t colon = words->makes.find(':');
  std::vector<int32_t> members = job->Who(words->makes.substr(colon + 1));
  std::string parent = process.comms[call.comm].name;
  bool init = call.info().kind == CallKind::CommInit;
  Communicator& comm = job->comms.Add(rank, &process, words->makes.substr(0, colon), members, init ? "init" : "split",
                                      init ? "" : parent);
  if (IsNccl(call)) MakeNccl(process, &comm);
  if (!init) return static_cast<void>(call.aux = comm.id);
  call.comm = comm.id;
  comm.name.clear();
  if (words->claimed_rank >= 0) comm.rank = words->claimed_rank;
  if (words->claimed_size > 0) comm.size = static_cast<uint32_t>(words->claimed_size);
  if (!words->claimed_device.empty()) comm.device_id = words->claimed_device;
  call.count = comm.size;
  call.peer = comm.rank;
}

}  // namespace

bool LogCalls::Add(int rank, const std::vector<std::string>& words) {
  if (words.empty()) return false;
  if (words[0] == "completion") return AddCompletion(&job_, rank, words);
  size_t index = CallNamed(words[0]);
  if (index == kCallCount) return false;
  CallWords read;
  read.call = BeginCall(job_, rank, index);
  for (size_t i = 1; i < words.size(); ++i)
    if (!ReadWord(&job_, rank, words[i], &read)) return false;
  Call& call = read.call;
  CallKind kind = call.info().kind;
  Process& process = job_.process(rank);
  if (IsCollective(kind) && call.info().shape != CallShape::CreateGroup) {
    uint32_t& next = seq_[{rank, call.comm}];
    call.seq = IsRefused(call) ? next : next++;
  }
  if (!read.makes.empty()) MakeComm(&job_, rank, &read);
  if (kind == CallKind::Abort) process.end.abort_called = true;
  bool frees = kind == CallKind::CommFree || (kind == CallKind::CommInit && !Accepted(call));
  if (frees) process.comms[call.comm].freed = true;
  if (read.unwritten) return true;
  if (!read.detail.requests.empty()) process.open_detail[process.calls.size()] = read.detail;
  process.calls.push_back(call);
  process.last_seen_ns = std::max(process.last_seen_ns, call.start_ns);
  return true;
}

}  // namespace ddbg::analyzer
