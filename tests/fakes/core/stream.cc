#include "tests/fakes/core/stream.h"

#include <pthread.h>
#include <stdio.h>

#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fakes/core/capture.h"
#include "tests/fakes/core/device.h"
#include "tests/fakes/core/settings.h"

namespace nullgpu {
namespace {

uint64_t NextId() {
  static std::atomic<uint64_t> next{1};
  return next++;
}

struct Streams {
  std::mutex mutex;
  std::shared_ptr<Stream> legacy[kMaxDevices];
  std::map<void*, std::shared_ptr<Stream>> others;
};

Streams& GetStreams() {
  static Streams* streams = [] {
    auto* made = new Streams;
    for (int device = 0; device < kMaxDevices; ++device) {
      made->legacy[device] = std::make_shared<Stream>(device, 0, 0, true);
    }
    return made;
  }();
  return *streams;
}

// A thread's own streams, made when it first names them and destroyed with it.
struct ThreadStreams {
  std::shared_ptr<Stream> of_device[kMaxDevices];
  ~ThreadStreams() {
    for (auto& stream : of_device) {
      if (stream) DestroyStream(stream.get());
    }
  }
};
thread_local ThreadStreams thread_streams;

std::vector<std::shared_ptr<Stream>> StreamsOf(int device) {
  Streams& streams = GetStreams();
  std::lock_guard lock(streams.mutex);
  std::vector<std::shared_ptr<Stream>> found;
  for (auto& [handle, stream] : streams.others) {
    if (stream->device == device) found.push_back(stream);
  }
  return found;
}

}  // namespace

void Fence::Reach() {
  std::lock_guard lock(mutex_);
  time_ = std::chrono::steady_clock::now();
  done_ = true;
  reached_.notify_all();
}

void Fence::Wait() {
  std::unique_lock lock(mutex_);
  reached_.wait(lock, [this] { return done_; });
}

bool Fence::Reached() {
  std::lock_guard lock(mutex_);
  return done_;
}

std::chrono::steady_clock::time_point Fence::time() {
  std::lock_guard lock(mutex_);
  return time_;
}

Stream::Stream(int device, unsigned flags, int priority, bool legacy)
    : device(device), flags(flags), priority(priority), legacy(legacy), id(NextId()) {}

void Stream::Start() {
  if (started_) return;
  started_ = true;
  std::thread([self = shared_from_this()] { self->Run(); }).detach();
}

void Stream::Push(Work work) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return queue_.size() < GetSettings().queue; });
  queue_.push_back(std::move(work));
  Start();
  changed_.notify_all();
}

void Stream::PushUnlimited(Work work) {
  std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  Start();
  changed_.notify_all();
}

void Stream::PushFence(std::shared_ptr<Fence> fence) {
  PushUnlimited([fence = std::move(fence)] { fence->Reach(); });
}

void Stream::PushWait(std::shared_ptr<Fence> fence) {
  PushUnlimited([fence = std::move(fence)] { fence->Wait(); });
}

std::shared_ptr<Fence> Stream::Mark() {
  if (Idle()) return nullptr;
  auto fence = std::make_shared<Fence>();
  PushFence(fence);
  return fence;
}

bool Stream::Idle() {
  std::lock_guard lock(mutex_);
  return queue_.empty() && !busy_;
}

void Stream::Close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Stream::Run() {
  char name[16];
  snprintf(name, sizeof(name), "ngstream%d", device);
  pthread_setname_np(pthread_self(), name);
  SetCurrentDevice(device);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !queue_.empty() || closed_; });
    if (queue_.empty()) return;
    Work work = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    room_.notify_one();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    busy_ = false;
  }
}

std::shared_ptr<Stream> CreateStream(int device, unsigned flags, int priority) {
  auto stream = std::make_shared<Stream>(device, flags, priority, false);
  Streams& streams = GetStreams();
  std::lock_guard lock(streams.mutex);
  streams.others[stream.get()] = stream;
  return stream;
}

// What is queued still runs, as in CUDA.
Error DestroyStream(void* handle) {
  std::shared_ptr<Stream> stream;
  {
    Streams& streams = GetStreams();
    std::lock_guard lock(streams.mutex);
    auto found = streams.others.find(handle);
    if (found == streams.others.end()) return kInvalidHandle;
    stream = found->second;
    streams.others.erase(found);
  }
  LeaveCapture(*stream);
  stream->Close();
  return kSuccess;
}

std::shared_ptr<Stream> FindStream(void* handle, bool per_thread_default) {
  uintptr_t value = reinterpret_cast<uintptr_t>(handle);
  int device = CurrentDevice();
  if (value == 2 || (value == 0 && per_thread_default)) {
    auto& own = thread_streams.of_device[device];
    if (!own) own = CreateStream(device, 0, 0);
    return own;
  }
  Streams& streams = GetStreams();
  if (value <= 1) return streams.legacy[device];
  std::lock_guard lock(streams.mutex);
  auto found = streams.others.find(handle);
  return found == streams.others.end() ? nullptr : found->second;
}

void OrderWithLegacy(Stream& stream) {
  if (stream.flags & kNonBlocking) return;
  if (!stream.legacy) {
    if (auto fence = GetStreams().legacy[stream.device]->Mark()) stream.PushWait(fence);
    return;
  }
  for (auto& other : StreamsOf(stream.device)) {
    if (other->flags & kNonBlocking) continue;
    if (auto fence = other->Mark()) stream.PushWait(fence);
  }
}

Error Enqueue(Stream& stream, const char* kind, Prepare prepare) {
  bool captured = false;
  if (Error error = AddToCapture(stream, kind, prepare, &captured); error || captured) return error;
  if (Error error = CheckLegacyUse(stream)) return error;
  std::lock_guard lock(stream.enqueue_mutex);
  OrderWithLegacy(stream);
  stream.Push(prepare());
  return kSuccess;
}

Error EnqueueWork(Stream& stream, const char* kind, Work work) {
  return Enqueue(stream, kind, [work = std::move(work)] { return work; });
}

Error QueryStream(Stream& stream) {
  if (Error error = CheckStreamWait(stream)) return error;
  return stream.Idle() ? kSuccess : kNotReady;
}

Error SynchronizeStream(Stream& stream) {
  if (Error error = CheckStreamWait(stream)) return error;
  OrderWithLegacy(stream);
  if (auto fence = stream.Mark()) fence->Wait();
  return kSuccess;
}

Error SynchronizeDevice(int device) {
  if (Error error = CheckDeviceWait(device)) return error;
  WaitForDevice(device);
  return kSuccess;
}

void WaitForDevice(int device) {
  for (auto& stream : StreamsOf(device)) {
    if (auto fence = stream->Mark()) fence->Wait();
  }
  if (auto fence = GetStreams().legacy[device]->Mark()) fence->Wait();
}

}  // namespace nullgpu
