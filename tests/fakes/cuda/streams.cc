// Streams and events. Handles are those of the runtime double.
#include "tests/fakes/core/device.h"
#include "tests/fakes/core/event.h"
#include "tests/fakes/core/settings.h"
#include "tests/fakes/core/stream.h"
#include "tests/fakes/cuda/abi.h"

using namespace nullgpu;

API int cuStreamCreateWithPriority(Handle* stream, unsigned flags, int priority) {
  *stream = CreateStream(CurrentDevice(), flags, priority).get();
  return kSuccess;
}

API int cuStreamCreate(Handle* stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }

API int cuStreamDestroy_v2(Handle stream) { return DestroyStream(stream); }

BOTH(cuStreamGetId, _ptsz, (Handle stream, unsigned long long* id),
     return WithStream(stream, per_thread, [=](Stream& found) {
       *id = found.id;
       return kSuccess;
     });)

BOTH(cuStreamQuery, _ptsz, (Handle stream), return WithStream(stream, per_thread, QueryStream);)

BOTH(cuStreamSynchronize, _ptsz, (Handle stream), Trace("%s %p", __func__, stream);
     return WithStream(stream, per_thread, SynchronizeStream);)

BOTH(cuStreamWaitEvent, _ptsz, (Handle stream, Handle event, unsigned),
     return WithStream(stream, per_thread, [=](Stream& found) { return WaitEvent(found, event); });)

API int cuEventCreate(Handle* event, unsigned) {
  *event = CreateEvent();
  return kSuccess;
}

API int cuEventDestroy_v2(Handle event) { return DestroyEvent(event); }

BOTH(cuEventRecord, _ptsz, (Handle event, Handle stream),
     return WithStream(stream, per_thread, [=](Stream& found) { return RecordEvent(event, found); });)

API int cuEventQuery(Handle event) { return QueryEvent(event); }

API int cuEventSynchronize(Handle event) { return SynchronizeEvent(event); }

API int cuEventElapsedTime(float* milliseconds, Handle start, Handle end) {
  return ElapsedMilliseconds(milliseconds, start, end);
}
