// Events: a fence in a stream, or, if recorded in a stream that is being captured, a place in a graph. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "tests/fakes/core/stream.h"

namespace nullgpu {

struct Event {
  std::mutex mutex;
  std::shared_ptr<Fence> fence;      // null: never recorded, or in a capture
  std::shared_ptr<Capture> capture;  // set: last recorded while capturing
  std::vector<int> tails;            // then: the nodes it stands behind
};

Event* CreateEvent();
Error DestroyEvent(void* handle);
Error RecordEvent(void* handle, Stream& stream);
Error WaitEvent(Stream& stream, void* handle);
// kSuccess if reached or never recorded, kNotReady if not.
Error QueryEvent(void* handle);
Error SynchronizeEvent(void* handle);
Error ElapsedMilliseconds(float* milliseconds, void* start, void* end);

}  // namespace nullgpu
