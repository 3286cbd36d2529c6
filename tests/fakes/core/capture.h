// Stream capture: what is enqueued while a stream is captured becomes the nodes of a graph.
//
// A capture spreads to other streams by events (record in a captured stream, wait in another) and must come back to its
// origin before it ends. CUDA forbids calls that could wait for the device meanwhile; such a call fails and invalidates
// the capture. The rules are those of the programming guide's "Prohibited and Unhandled Operations". Thread-safe, one
// lock.
#pragma once

#include <stdint.h>

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "tests/fakes/core/graph.h"
#include "tests/fakes/core/stream.h"

namespace nullgpu {

struct Event;

enum class CaptureMode { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };
enum class CaptureStatus { kNone = 0, kActive = 1, kInvalidated = 2 };

struct Capture {
  uint64_t id;
  CaptureMode mode;
  std::thread::id thread;
  Stream* origin;
  bool invalidated = false;
  bool ended = false;
  Graph graph;
  // The streams that take part, and the nodes that the next node of each stands behind.
  std::map<Stream*, std::vector<int>> tails;
};

Error BeginCapture(Stream& stream, CaptureMode mode);
// `graph` is the caller's to delete; null after an error.
Error EndCapture(Stream& stream, Graph** graph);
CaptureStatus StatusOfCapture(Stream& stream, uint64_t* id, Graph** graph);
void Invalidate(Capture& capture);
// The calling thread's mode, which says what others' captures forbid it. Returns the previous one.
CaptureMode ExchangeCaptureMode(CaptureMode mode);

// Each sets `captured` if the stream is being captured, and then has done it; else there is nothing done.
Error AddToCapture(Stream& stream, const char* kind, const Prepare& prepare, bool* captured);
Error RecordInCapture(Stream& stream, Event* event, bool* captured);
Error WaitInCapture(Stream& stream, const Event& event, bool* captured);
// For a stream that is destroyed.
void LeaveCapture(Stream& stream);

// May the calling thread make a call that CUDA holds unsafe while streams are captured (allocate, wait)? An error if
// not.
Error CheckUnsafeCall();
// The same for use of the legacy stream, with which a captured blocking stream would be ordered.
Error CheckLegacyUse(Stream& stream);
Error CheckStreamWait(Stream& stream);
Error CheckDeviceWait(int device);

}  // namespace nullgpu
