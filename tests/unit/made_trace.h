// Trace files made by hand, packet by packet, for tests of what reads them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "proto/batch_reader.h"
#include "proto/call.h"
#include "proto/ddbg.pb.h"
#include "proto/trace_writer.h"

namespace ddbg::test {

// A whole process of another host, so that no pid here is taken for it.
inline proto::Process SomeProcess(int rank, int size = 2) {
  proto::Process process;
  process.set_run_id("run-1");
  process.set_rank(rank);
  process.set_world_size(size);
  process.set_host("node-a");
  process.set_boot_id("boot-a");
  process.set_pid(1000 + rank);
  process.set_launcher("Open MPI mpirun");
  process.set_start_monotonic_ns(1'000'000'000);
  process.set_start_realtime_ns(1'700'000'000'000'000'000);
  for (const CallInfo& call : kCalls) process.add_call_name(std::string(call.name));
  return process;
}

// A record as the ring would hold it, times in ns.
inline Record SomeRecord(MpiCall call, int64_t start_ns, int64_t duration_ns) {
  Record record = {};
  record.call = CallId(call);
  record.start = static_cast<uint64_t>(start_ns);
  record.duration = static_cast<uint64_t>(duration_ns);
  record.peer = kNoPeer;
  return record;
}

// Columns of a batch at ring positions [first, first + records.size()), unless `end` says that definitions lie among
// them.
inline proto::Batch BatchOf(const std::vector<Record>& records, uint64_t first, uint64_t end = 0, uint32_t thread = 0,
                            uint32_t lane = 0, uint32_t tid = 77) {
  proto::Batch batch;
  batch.set_thread(thread);
  batch.set_lane(lane);
  batch.set_tid(tid);
  batch.set_first_position(first);
  batch.set_end_position(end ? end : first + records.size());
  int64_t t_min = records.empty() ? 0 : INT64_MAX, t_max = 0;
  for (const Record& r : records) {
    t_min = std::min(t_min, static_cast<int64_t>(r.start));
    t_max = std::max(t_max, static_cast<int64_t>(r.start + r.duration));
  }
  batch.set_t_min_ns(t_min);
  batch.set_t_max_ns(t_max);
  BatchBuilder builder(&batch);
  for (const Record& r : records) builder.Add(r);
  return batch;
}

inline proto::Definition WorldCommunicator(uint32_t id, int rank, int size) {
  proto::Definition definition;
  proto::Communicator* comm = definition.mutable_communicator();
  comm->set_id(id);
  comm->set_uid(0x1234abcd);
  comm->set_kind("world");
  comm->set_name("MPI_COMM_WORLD");
  comm->set_size(static_cast<uint32_t>(size));
  comm->set_rank(rank);
  for (int32_t number : {0, size, 1}) comm->add_members(number);
  return definition;
}

// The `seq`-th one on communicator 1, of datatype 2 from stack 3.
inline Record Allreduce(uint32_t seq, int64_t start_ns, int64_t duration_ns = 10) {
  Record record = SomeRecord(MpiCall::Allreduce, start_ns, duration_ns);
  record.comm = 1;
  record.seq = seq;
  record.count = 100 + seq;
  record.dtype = 2;
  record.op = kOpSum;
  record.stack = 3;
  return record;
}

// The same, still open at `seen_ns`.
inline proto::OpenCall OpenAllreduce(uint32_t seq, int64_t start_ns, int64_t seen_ns, uint32_t thread = 0,
                                     uint32_t tid = 77) {
  proto::OpenCall open_call;
  open_call.set_thread(thread);
  open_call.set_tid(tid);
  proto::Call* half = open_call.add_half();
  half->set_call(CallId(MpiCall::Allreduce));
  half->set_start_ns(start_ns);
  half->set_comm(1);
  half->set_seq(seq);
  half->set_peer(kNoPeer);
  open_call.set_seen_ns(seen_ns);
  return open_call;
}

// Frames as differences, the first one from 0.
inline proto::Definition SomeStack(uint32_t id, const std::vector<int64_t>& deltas) {
  proto::Definition definition;
  definition.mutable_stack()->set_id(id);
  for (int64_t delta : deltas) definition.mutable_stack()->add_frame(delta);
  return definition;
}

inline proto::Definition SomeDatatype(uint32_t id) {
  proto::Definition definition;
  definition.mutable_datatype()->set_id(id);
  definition.mutable_datatype()->set_name("MPI_DOUBLE");
  definition.mutable_datatype()->set_size(8);
  return definition;
}

// Writes a trace file through TraceWriter. Packets gather in a chunk until Cut().
class TraceFile {
 public:
  TraceFile(const std::string& path, const proto::Process& process) : writer_(Create(path, process)) {}

  proto::Packet* Add() { return chunk_.add_packet(); }
  TraceFile& Add(const proto::Batch& batch) {
    *Add()->mutable_batch() = batch;
    return *this;
  }
  // `position`: of the head cell of each.
  TraceFile& Add(const std::vector<proto::Definition>& definitions, const std::vector<uint64_t>& positions) {
    proto::Definitions* packet = Add()->mutable_definitions();
    for (const proto::Definition& definition : definitions) *packet->add_definition() = definition;
    for (uint64_t position : positions) packet->add_position(position);
    return *this;
  }
  TraceFile& AddEnd(proto::ProcessEnd::How how, int code, int64_t t_ns) {
    proto::ProcessEnd* end = Add()->mutable_end();
    end->set_how(how);
    end->set_code(code);
    end->set_t_ns(t_ns);
    return *this;
  }
  // Ends the chunk: one frame of the file.
  TraceFile& Cut() {
    if (chunk_.packet_size() > 0) ok_ = writer_ && writer_->Append(chunk_.SerializeAsString(), 0, 0).ok() && ok_;
    chunk_.Clear();
    return *this;
  }
  // True if everything was written. Call last.
  bool Finish() {
    Cut();
    return ok_ && writer_.ok();
  }

 private:
  static Result<TraceWriter> Create(const std::string& path, const proto::Process& process) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    proto::Chunk chunk;
    *chunk.add_packet()->mutable_process() = process;
    return TraceWriter::Create(path, chunk.SerializeAsString());
  }

  Result<TraceWriter> writer_;
  proto::Chunk chunk_;
  bool ok_ = true;
};

}  // namespace ddbg::test
