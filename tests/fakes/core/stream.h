// Streams: queues of work, each done in order by a thread of its own, which starts with the first work.
//
// Everything here may be called from any thread. Handles are CUDA's: 0 or 1 the legacy default stream of the current
// device, 2 the calling thread's own stream, others the address of a Stream.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "tests/fakes/core/errors.h"

namespace nullgpu {

struct Capture;

using Work = std::function<void()>;
// Makes the work of one enqueued operation, on the thread that enqueues it: once when it is enqueued, or once for each
// launch of the graph that captured it. What must follow the order of enqueueing (a number drawn, say) is done here.
using Prepare = std::function<Work()>;

// One point in a stream, and when it was reached.
class Fence {
 public:
  void Reach();
  void Wait();
  bool Reached();
  std::chrono::steady_clock::time_point time();

 private:
  std::mutex mutex_;
  std::condition_variable reached_;
  bool done_ = false;
  std::chrono::steady_clock::time_point time_;
};

constexpr unsigned kNonBlocking = 1;  // cudaStreamNonBlocking: not ordered with the legacy stream

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(int device, unsigned flags, int priority, bool legacy);

  // Puts work at the end; waits first while NULLGPU_QUEUE operations are waiting.
  void Push(Work work);
  // Puts a fence at the end; null if the stream is idle.
  std::shared_ptr<Fence> Mark();
  void PushFence(std::shared_ptr<Fence> fence);
  void PushWait(std::shared_ptr<Fence> fence);
  bool Idle();
  // Lets the thread end when all work is done.
  void Close();

  const int device;
  const unsigned flags;
  const int priority;
  const bool legacy;
  const uint64_t id;
  // The capture that this stream is part of, guarded by the lock of capture.cc.
  std::shared_ptr<Capture> capture;
  // Held while an operation is prepared and pushed, so that two threads' operations are prepared in the order they run.
  std::mutex enqueue_mutex;

 private:
  void PushUnlimited(Work work);
  void Start();
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable room_;
  std::deque<Work> queue_;
  bool busy_ = false;
  bool started_ = false;
  bool closed_ = false;
};

std::shared_ptr<Stream> CreateStream(int device, unsigned flags, int priority);
Error DestroyStream(void* handle);
// The stream behind a handle; null if it is none. With `per_thread_default` the handle 0 is the thread's own stream, as
// in a program built with --default-stream per-thread.
std::shared_ptr<Stream> FindStream(void* handle, bool per_thread_default = false);

// Puts an operation at the end of the stream, or into the graph that is being captured from it.
Error Enqueue(Stream& stream, const char* kind, Prepare prepare);
Error EnqueueWork(Stream& stream, const char* kind, Work work);

// kSuccess if all work is done, kNotReady if not.
Error QueryStream(Stream& stream);
Error SynchronizeStream(Stream& stream);
Error SynchronizeDevice(int device);
// Waits for the device as cudaFree and others do by the way; a stream that is being captured has no work.
void WaitForDevice(int device);
// Orders the legacy stream and those that block on it: for whoever pushes to a stream directly.
void OrderWithLegacy(Stream& stream);

}  // namespace nullgpu
