#include "tests/fakes/nccl/comm.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "tests/fakes/core/settings.h"
#include "tests/fakes/nccl/faults.h"

using nullnccl::kRemoteError;
using nullnccl::kSuccess;

ncclComm::~ncclComm() {
  if (segment) nullnccl::UnmapSegment(segment);
}

bool ncclComm::WaitFor(const std::function<bool()>& met, bool device_work, int peer) {
  int spins = 0;
  while (!met()) {
    if (aborted || (device_work && stopped)) return false;
    bool look = nullnccl::GetFaults().peer_death && segment && spins > 2000 && spins % 100 == 0;
    for (int other = 0; look && other < ranks; ++other) {
      int pid = segment->pid[other];
      if ((peer >= 0 && other != peer) || !pid || kill(pid, 0) == 0 || errno != ESRCH) continue;
      int expected = kSuccess;
      if (state.compare_exchange_strong(expected, kRemoteError)) {
        nullnccl::Fail(kRemoteError,
                       "process " + std::to_string(pid) + " of rank " + std::to_string(other) + " is gone");
      }
    }
    nullnccl::Pause(&spins);
  }
  return true;
}

bool ncclComm::Meet(nullnccl::Lane* lanes, uint64_t step, bool device_work, const std::function<void()>& write,
                    const std::function<void()>& read) {
  auto all = [&](std::atomic<uint64_t> nullnccl::Lane::*counter, uint64_t least) {
    return WaitFor(
        [&] {
          for (int other = 0; other < ranks; ++other) {
            if ((lanes[other].*counter).load(std::memory_order_acquire) < least) return false;
          }
          return true;
        },
        device_work);
  };
  if (!all(&nullnccl::Lane::done, step - 1)) return false;
  write();
  lanes[rank].posted.store(step, std::memory_order_release);
  if (!all(&nullnccl::Lane::posted, step)) return false;
  read();
  lanes[rank].done.store(step, std::memory_order_release);
  return true;
}

void* ncclComm::WindowAt(int64_t number, size_t offset) {
  std::lock_guard lock(mutex);
  if (number < 0 || static_cast<size_t>(number) >= windows.size() || !windows[number]) return nullptr;
  return static_cast<char*>(windows[number]->base) + offset;
}

namespace nullnccl {
namespace {

struct Comms {
  std::mutex mutex;
  std::map<ncclComm*, Comm> alive;
};

Comms& GetComms() {
  static Comms* comms = new Comms;
  return *comms;
}

// Of the process, as NCCL's.
std::mutex message_mutex;
std::string& Message() {
  static std::string* message = new std::string;
  return *message;
}

}  // namespace

Comm MakeComm() {
  auto comm = std::make_shared<ncclComm>();
  Comms& comms = GetComms();
  std::lock_guard lock(comms.mutex);
  comms.alive[comm.get()] = comm;
  return comm;
}

Comm FindComm(ncclComm* handle) {
  Comms& comms = GetComms();
  std::lock_guard lock(comms.mutex);
  auto found = comms.alive.find(handle);
  return found == comms.alive.end() ? nullptr : found->second;
}

void Forget(ncclComm* handle) {
  Comms& comms = GetComms();
  std::lock_guard lock(comms.mutex);
  comms.alive.erase(handle);
}

Result Fail(Result result, const std::string& message) {
  nullgpu::Trace("nccl error %d: %s", result, message.c_str());
  std::lock_guard lock(message_mutex);
  Message() = message;
  return result;
}

const char* LastMessage() {
  thread_local std::string copy;
  std::lock_guard lock(message_mutex);
  copy = Message();
  return copy.c_str();
}

Result EnsureReady(ncclComm* handle, Comm* comm, bool revoked_is_fine) {
  *comm = FindComm(handle);
  if (!*comm) return Fail(kInvalidArgument, "the communicator is NULL or was destroyed");
  if ((*comm)->revoked && !revoked_is_fine) return Fail(kInvalidUsage, "the communicator was revoked");
  int state = (*comm)->state;
  if (state == kSuccess) return kSuccess;
  Fail(static_cast<Result>(state), "Attempt to use communicator before the previous operation returned ncclSuccess");
  return state == kInProgress ? kInvalidArgument : static_cast<Result>(state);
}

void Drain(ncclComm& comm) {
  int spins = 0;
  while ((comm.outstanding || comm.in_graphs) && !comm.aborted) Pause(&spins);
}

void StopDeviceWork(ncclComm& comm) {
  comm.stopped = true;
  int spins = 0;
  while (comm.running) Pause(&spins);
}

// On a machine with fewer cores than ranks, a long spin keeps the awaited rank from running.
void Pause(int* spins) {
  if (++*spins < 200) {
    sched_yield();
  } else {
    usleep(*spins < 2000 ? 50 : 500);
  }
}

}  // namespace nullnccl
