#include "tests/fakes/core/event.h"

#include <map>

#include "tests/fakes/core/capture.h"

namespace nullgpu {
namespace {

struct Events {
  std::mutex mutex;
  std::map<void*, std::shared_ptr<Event>> all;
};

Events& GetEvents() {
  static Events* events = new Events;
  return *events;
}

std::shared_ptr<Event> FindEvent(void* handle) {
  Events& events = GetEvents();
  std::lock_guard lock(events.mutex);
  auto found = events.all.find(handle);
  return found == events.all.end() ? nullptr : found->second;
}

// The fence to look at, after what CUDA forbids about events of captures.
Error FenceOf(void* handle, std::shared_ptr<Fence>* fence) {
  auto event = FindEvent(handle);
  if (!event) return kInvalidHandle;
  std::lock_guard lock(event->mutex);
  if (event->capture) {
    Invalidate(*event->capture);
    return kCapturedEvent;
  }
  *fence = event->fence;
  return CheckUnsafeCall();
}

}  // namespace

Event* CreateEvent() {
  auto event = std::make_shared<Event>();
  Events& events = GetEvents();
  std::lock_guard lock(events.mutex);
  events.all[event.get()] = event;
  return event.get();
}

Error DestroyEvent(void* handle) {
  Events& events = GetEvents();
  std::lock_guard lock(events.mutex);
  return events.all.erase(handle) ? kSuccess : kInvalidHandle;
}

Error RecordEvent(void* handle, Stream& stream) {
  auto event = FindEvent(handle);
  if (!event) return kInvalidHandle;
  std::lock_guard lock(event->mutex);
  bool captured = false;
  if (Error error = RecordInCapture(stream, event.get(), &captured); error || captured) return error;
  if (Error error = CheckLegacyUse(stream)) return error;
  event->capture = nullptr;
  event->fence = std::make_shared<Fence>();
  std::lock_guard order(stream.enqueue_mutex);
  OrderWithLegacy(stream);
  stream.PushFence(event->fence);
  return kSuccess;
}

Error WaitEvent(Stream& stream, void* handle) {
  auto event = FindEvent(handle);
  if (!event) return kInvalidHandle;
  std::lock_guard lock(event->mutex);
  bool captured = false;
  if (Error error = WaitInCapture(stream, *event, &captured); error || captured) return error;
  if (event->fence) stream.PushWait(event->fence);
  return kSuccess;
}

Error QueryEvent(void* handle) {
  std::shared_ptr<Fence> fence;
  if (Error error = FenceOf(handle, &fence)) return error;
  return !fence || fence->Reached() ? kSuccess : kNotReady;
}

Error SynchronizeEvent(void* handle) {
  std::shared_ptr<Fence> fence;
  if (Error error = FenceOf(handle, &fence)) return error;
  if (fence) fence->Wait();
  return kSuccess;
}

Error ElapsedMilliseconds(float* milliseconds, void* start, void* end) {
  auto first = FindEvent(start), last = FindEvent(end);
  if (!first || !last) return kInvalidHandle;
  if (!first->fence || !last->fence) return kInvalidHandle;
  if (!first->fence->Reached() || !last->fence->Reached()) return kNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(last->fence->time() - first->fence->time()).count();
  return kSuccess;
}

}  // namespace nullgpu
