#include "tests/fakes/core/capture.h"

#include <set>

#include "tests/fakes/core/event.h"

namespace nullgpu {
namespace {

std::mutex mutex;
std::set<Capture*> active;         // guarded by mutex
std::atomic<int> active_count{0};  // its size, for the way without any capture
thread_local CaptureMode thread_mode = CaptureMode::kGlobal;

// Does this capture forbid unsafe calls to the calling thread?
bool Forbids(const Capture& capture) {
  if (capture.mode == CaptureMode::kRelaxed || thread_mode == CaptureMode::kRelaxed) return false;
  if (capture.thread == std::this_thread::get_id()) return true;
  return capture.mode == CaptureMode::kGlobal && thread_mode == CaptureMode::kGlobal;
}

Error AddLocked(Capture& capture, Stream& stream, const char* kind, const Prepare& prepare) {
  std::vector<int>& tails = capture.tails[&stream];
  capture.graph.nodes.push_back({kind, prepare, tails});
  tails = {static_cast<int>(capture.graph.nodes.size()) - 1};
  return kSuccess;
}

// Whether all nodes that other streams ended with come before what the origin ends with.
bool Joined(const Capture& capture) {
  std::vector<char> seen(capture.graph.nodes.size(), 0);
  std::vector<int> todo = capture.tails.at(capture.origin);
  while (!todo.empty()) {
    int node = todo.back();
    todo.pop_back();
    if (seen[node]) continue;
    seen[node] = 1;
    for (int before : capture.graph.nodes[node].after) todo.push_back(before);
  }
  for (const auto& [stream, tails] : capture.tails) {
    for (int node : tails) {
      if (!seen[node]) return false;
    }
  }
  return true;
}

}  // namespace

Error BeginCapture(Stream& stream, CaptureMode mode) {
  static std::atomic<uint64_t> next_id{1};
  if (stream.legacy) return kCaptureUnsupported;
  std::lock_guard lock(mutex);
  if (stream.capture) return kIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->id = next_id++;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = &stream;
  capture->tails[&stream] = {};
  stream.capture = capture;
  active.insert(capture.get());
  ++active_count;
  return kSuccess;
}

Error EndCapture(Stream& stream, Graph** graph) {
  *graph = nullptr;
  std::lock_guard lock(mutex);
  auto capture = stream.capture;
  if (!capture) return kIllegalState;
  if (capture->mode != CaptureMode::kRelaxed && capture->thread != std::this_thread::get_id()) {
    return kCaptureWrongThread;
  }
  if (capture->origin != &stream) {
    capture->invalidated = true;
    return kCaptureUnmatched;
  }
  capture->ended = true;
  for (auto& [member, tails] : capture->tails) member->capture = nullptr;
  active.erase(capture.get());
  --active_count;
  if (capture->invalidated) return kCaptureInvalidated;
  if (!Joined(*capture)) return kCaptureUnjoined;
  *graph = new Graph(capture->graph);
  return kSuccess;
}

CaptureStatus StatusOfCapture(Stream& stream, uint64_t* id, Graph** graph) {
  std::lock_guard lock(mutex);
  if (!stream.capture) return CaptureStatus::kNone;
  if (id) *id = stream.capture->id;
  if (graph) *graph = &stream.capture->graph;
  return stream.capture->invalidated ? CaptureStatus::kInvalidated : CaptureStatus::kActive;
}

void Invalidate(Capture& capture) {
  std::lock_guard lock(mutex);
  if (!capture.ended) capture.invalidated = true;
}

CaptureMode ExchangeCaptureMode(CaptureMode mode) {
  CaptureMode previous = thread_mode;
  thread_mode = mode;
  return previous;
}

Error AddToCapture(Stream& stream, const char* kind, const Prepare& prepare, bool* captured) {
  if (active_count == 0) return kSuccess;
  std::lock_guard lock(mutex);
  if (!stream.capture) return kSuccess;
  *captured = true;
  if (stream.capture->invalidated) return kCaptureInvalidated;
  return AddLocked(*stream.capture, stream, kind, prepare);
}

Error RecordInCapture(Stream& stream, Event* event, bool* captured) {
  if (active_count == 0) return kSuccess;
  std::lock_guard lock(mutex);
  if (!stream.capture) return kSuccess;
  *captured = true;
  if (stream.capture->invalidated) return kCaptureInvalidated;
  event->capture = stream.capture;
  event->fence = nullptr;
  event->tails = stream.capture->tails[&stream];
  return kSuccess;
}

Error WaitInCapture(Stream& stream, const Event& event, bool* captured) {
  std::lock_guard lock(mutex);
  if (!stream.capture && !event.capture) return kSuccess;
  *captured = true;
  if (!event.capture) {
    if (!event.fence) return kSuccess;
    stream.capture->invalidated = true;
    return kCaptureIsolation;  // work inside would depend on work outside
  }
  if (event.capture->ended) return kCaptureIsolation;
  if (event.capture->invalidated) return kCaptureInvalidated;
  if (!stream.capture) {
    if (stream.legacy) {
      event.capture->invalidated = true;
      return kCaptureImplicit;
    }
    stream.capture = event.capture;
    stream.capture->tails[&stream] = {};
  }
  if (stream.capture != event.capture) {
    stream.capture->invalidated = event.capture->invalidated = true;
    return kCaptureMerge;
  }
  std::vector<int>& tails = stream.capture->tails[&stream];
  tails.insert(tails.end(), event.tails.begin(), event.tails.end());
  return kSuccess;
}

void LeaveCapture(Stream& stream) {
  std::lock_guard lock(mutex);
  if (!stream.capture) return;
  auto capture = stream.capture;
  capture->invalidated = true;
  capture->tails.erase(&stream);
  stream.capture = nullptr;
  if (capture->origin != &stream) return;
  capture->ended = true;
  for (auto& [member, tails] : capture->tails) member->capture = nullptr;
  active.erase(capture.get());
  --active_count;
}

Error CheckUnsafeCall() {
  if (active_count == 0) return kSuccess;
  std::lock_guard lock(mutex);
  Error error = kSuccess;
  for (Capture* capture : active) {
    if (!Forbids(*capture)) continue;
    capture->invalidated = true;
    error = kCaptureUnsupported;
  }
  return error;
}

Error CheckLegacyUse(Stream& stream) {
  if (active_count == 0 || !stream.legacy) return kSuccess;
  std::lock_guard lock(mutex);
  Error error = kSuccess;
  for (Capture* capture : active) {
    for (auto& [member, tails] : capture->tails) {
      if (member->device != stream.device || (member->flags & kNonBlocking)) continue;
      capture->invalidated = true;
      error = kCaptureImplicit;
    }
  }
  return error;
}

Error CheckStreamWait(Stream& stream) {
  if (active_count == 0) return kSuccess;
  {
    std::lock_guard lock(mutex);
    if (stream.capture) {
      stream.capture->invalidated = true;
      return kCaptureUnsupported;
    }
  }
  if (Error error = CheckLegacyUse(stream)) return error;
  return CheckUnsafeCall();
}

Error CheckDeviceWait(int device) {
  if (active_count == 0) return kSuccess;
  std::lock_guard lock(mutex);
  Error error = kSuccess;
  for (Capture* capture : active) {
    if (capture->origin->device != device) continue;
    capture->invalidated = true;
    error = kCaptureUnsupported;
  }
  return error;
}

}  // namespace nullgpu
