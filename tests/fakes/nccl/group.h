// Groups, and how calls reach streams. Outside a group each call is a group of its own.
//
// Group state is the thread's. In the outermost GroupEnd first the jobs (host work that meets other ranks: init, split,
// windows) run, all at once; then operations are enqueued, those of one communicator and stream as one. If a
// communicator is not blocking, a thread does it, and the call returns kInProgress.
#pragma once

#include <functional>

#include "tests/fakes/nccl/operation.h"

namespace nullnccl {

struct Job {
  Comm comm;  // whose state is the job's result
  bool blocking;
  std::function<Result()> run;
};

void GroupEnter();
Result GroupLeave();
// Leaves a group without doing anything that was in it.
Result GroupDrop();

Result SubmitJob(Job job);
// `stream` is a CUDA handle, looked up for the device of the communicator.
Result SubmitOperation(const Comm& comm, void* stream, const Operation& operation);
// Fails the call, and the group that it is in.
Result FailInGroup(Result result, const std::string& message);

}  // namespace nullnccl
