#include "tests/fakes/nccl/group.h"

#include <string.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "tests/fakes/core/capture.h"
#include "tests/fakes/core/device.h"
#include "tests/fakes/core/stream.h"
#include "tests/fakes/nccl/arithmetic.h"
#include "tests/fakes/nccl/faults.h"

namespace nullnccl {
namespace {

struct Queued {
  Comm comm;
  void* handle;
  std::shared_ptr<nullgpu::Stream> stream;  // null: to be looked up by whoever enqueues
  Operation operation;
};

struct Group {
  int depth = 0;
  Result error = kSuccess;
  std::vector<Job> jobs;
  std::vector<Queued> operations;
};
thread_local Group group;

// The operations of one communicator and stream in one group.
struct Batch {
  explicit Batch(Comm owner) : comm(std::move(owner)) {}
  ~Batch() {
    if (captured) --comm->in_graphs;
  }

  Comm comm;
  std::shared_ptr<nullgpu::Stream> stream;
  std::vector<Operation> collectives, transfers, one_sided;
  bool captured = false;
};

// Real NCCL makes a copy of it, outside the way that peers meet on.
void CopyToSelf(const Operation& operation) {
  size_t bytes = operation.count * SizeOf(operation.type);
  if (operation.custom) {
    const CustomOp& custom = *operation.custom;
    Scale(operation.recv, operation.send, operation.count, operation.type,
          custom.device_scalar ? custom.device_scalar : custom.value);
  } else if (operation.recv != operation.send) {
    memmove(operation.recv, operation.send, bytes);
  }
}

bool RunBatch(Batch& batch) {
  ncclComm& comm = *batch.comm;
  if (comm.mismatched && !GetFaults().goes_on_after_mismatch) return comm.Hang(), false;
  for (const Operation& operation : batch.collectives) {
    if (comm.ranks == 1) {
      CopyToSelf(operation);
    } else if (!RunCollective(comm, operation)) {
      return false;
    }
  }
  if (!batch.transfers.empty() && !RunPointToPoint(comm, batch.transfers)) return false;
  for (const Operation& operation : batch.one_sided) {
    if (!RunOneSided(comm, operation)) return false;
  }
  return true;
}

void RunInTurn(Batch& batch, uint64_t ticket) {
  ncclComm& comm = *batch.comm;
  ++comm.running;
  const RankFault& delay = GetFaults().delay;
  if (comm.lineage->rank == delay.rank) usleep(delay.value);
  if (comm.WaitFor([&] { return comm.turn == ticket; }, true) && RunBatch(batch)) ++comm.turn;
  --comm.running;
  --comm.outstanding;
}

Result EnqueueBatch(std::shared_ptr<Batch> batch) {
  nullgpu::Stream& stream = *batch->stream;
  batch->captured = nullgpu::StatusOfCapture(stream, nullptr, nullptr) != nullgpu::CaptureStatus::kNone;
  if (batch->captured) ++batch->comm->in_graphs;
  auto error = nullgpu::Enqueue(stream, "nccl", [batch]() -> nullgpu::Work {
    uint64_t ticket = batch->comm->tickets++;
    ++batch->comm->outstanding;
    return [batch, ticket] { RunInTurn(*batch, ticket); };
  });
  if (error) return Fail(kUnhandledCudaError, "Cuda failure " + std::to_string(error));
  return kSuccess;
}

std::vector<std::shared_ptr<Batch>> MakeBatches(std::vector<Queued>& operations) {
  std::vector<std::shared_ptr<Batch>> batches;
  for (Queued& queued : operations) {
    if (!queued.stream) queued.stream = nullgpu::FindStream(queued.handle);
    std::shared_ptr<Batch> batch;
    for (auto& made : batches) {
      if (made->comm == queued.comm && made->stream == queued.stream) batch = made;
    }
    if (!batch) {
      batch = batches.emplace_back(std::make_shared<Batch>(queued.comm));
      batch->stream = queued.stream;
    }
    auto& list = IsCollective(queued.operation.kind)     ? batch->collectives
                 : IsPointToPoint(queued.operation.kind) ? batch->transfers
                                                         : batch->one_sided;
    list.push_back(std::move(queued.operation));
  }
  return batches;
}

Result EnqueueAll(std::vector<Queued> operations) {
  Result result = kSuccess;
  for (auto& batch : MakeBatches(operations)) {
    if (Result error = EnqueueBatch(batch)) result = error;
  }
  return result;
}

Result RunJob(const Job& job) {
  Result result = job.run();
  job.comm->state = result;
  return result;
}

Result RunJobs(std::vector<Job> jobs) {
  bool blocking = true;
  for (const Job& job : jobs) blocking &= job.blocking;
  std::vector<Result> results(jobs.size(), kSuccess);
  if (!blocking) {
    for (Job& job : jobs) {
      job.comm->state = kInProgress;
      std::thread([job = std::move(job)] { RunJob(job); }).detach();
    }
    return kInProgress;
  }
  if (jobs.size() == 1) return RunJob(jobs[0]);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < jobs.size(); ++i) threads.emplace_back([&, i] { results[i] = RunJob(jobs[i]); });
  for (std::thread& thread : threads) thread.join();
  for (Result result : results) {
    if (result) return result;
  }
  return kSuccess;
}

// A communicator that is not blocking is in progress until its operations are enqueued, by a thread of the library.
// That thread looks the handle 2 (cudaStreamPerThread) up for itself: the bug of nccl#1976 is kept.
Result EnqueueInBackground(std::vector<Queued> operations) {
  for (const Queued& queued : operations) queued.comm->state = kInProgress;
  std::thread([operations = std::move(operations)]() mutable {
    std::vector<Comm> comms;
    for (const Queued& queued : operations) comms.push_back(queued.comm);
    nullgpu::SetCurrentDevice(comms[0]->device);
    Result result = EnqueueAll(std::move(operations));
    for (const Comm& comm : comms) {
      int expected = kInProgress;
      comm->state.compare_exchange_strong(expected, result);
    }
  }).detach();
  return kInProgress;
}

Result Flush() {
  auto jobs = std::exchange(group.jobs, {});
  auto operations = std::exchange(group.operations, {});
  Result error = std::exchange(group.error, kSuccess);
  if (error) return error;
  if (!jobs.empty()) {
    if (Result result = RunJobs(std::move(jobs))) return result;
  }
  bool blocking = true;
  for (const Queued& queued : operations) blocking &= queued.comm->blocking;
  return blocking ? EnqueueAll(std::move(operations)) : EnqueueInBackground(std::move(operations));
}

// The stream as the calling thread means it; the null stream is that of the communicator's device.
std::shared_ptr<nullgpu::Stream> FindStreamOn(int device, void* handle) {
  int current = nullgpu::CurrentDevice();
  nullgpu::SetCurrentDevice(device);
  auto stream = nullgpu::FindStream(handle);
  nullgpu::SetCurrentDevice(current);
  return stream;
}

}  // namespace

void GroupEnter() { ++group.depth; }

Result GroupLeave() {
  if (group.depth == 0) return Fail(kInvalidUsage, "ncclGroupEnd: not in a group call");
  return --group.depth ? kSuccess : Flush();
}

Result GroupDrop() {
  if (group.depth == 0) return Fail(kInvalidUsage, "ncclGroupSimulateEnd: not in a group call");
  if (--group.depth) return kSuccess;
  group.jobs.clear();
  group.operations.clear();
  return std::exchange(group.error, kSuccess);
}

Result FailInGroup(Result result, const std::string& message) {
  if (group.depth && !group.error) group.error = result;
  return Fail(result, message);
}

Result SubmitJob(Job job) {
  job.comm->state = kInProgress;
  group.jobs.push_back(std::move(job));
  return group.depth ? kSuccess : Flush();
}

Result SubmitOperation(const Comm& comm, void* stream, const Operation& operation) {
  bool of_other_thread = !comm->blocking && stream == reinterpret_cast<void*>(2);
  std::shared_ptr<nullgpu::Stream> found;
  if (!of_other_thread) {
    found = FindStreamOn(comm->device, stream);
    if (!found) return FailInGroup(kInvalidArgument, "the stream is none");
  }
  group.operations.push_back({comm, stream, found, operation});
  return group.depth ? kSuccess : Flush();
}

}  // namespace nullnccl
