// Streams, events and the wait for a device.
#include "tests/fakes/core/device.h"
#include "tests/fakes/core/event.h"
#include "tests/fakes/core/settings.h"
#include "tests/fakes/core/stream.h"
#include "tests/fakes/cudart/abi.h"

using namespace nullgpu;

API int cudaStreamCreateWithPriority(Handle* stream, unsigned flags, int priority) {
  *stream = CreateStream(CurrentDevice(), flags, priority).get();
  Trace("cudaStreamCreateWithPriority -> %p", *stream);
  return kSuccess;
}

API int cudaStreamCreateWithFlags(Handle* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

API int cudaStreamCreate(Handle* stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

API int cudaStreamDestroy(Handle stream) { return Return(DestroyStream(stream)); }

BOTH(cudaStreamGetPriority, _ptsz, (Handle stream, int* priority),
     return WithStream(stream, per_thread, [=](Stream& found) {
       *priority = found.priority;
       return kSuccess;
     });)

BOTH(cudaStreamGetFlags, _ptsz, (Handle stream, unsigned* flags),
     return WithStream(stream, per_thread, [=](Stream& found) {
       *flags = found.flags;
       return kSuccess;
     });)

BOTH(cudaStreamGetId, _ptsz, (Handle stream, unsigned long long* id),
     return WithStream(stream, per_thread, [=](Stream& found) {
       *id = found.id;
       return kSuccess;
     });)

BOTH(cudaStreamGetDevice, _ptsz, (Handle stream, int* device),
     return WithStream(stream, per_thread, [=](Stream& found) {
       *device = found.device;
       return kSuccess;
     });)

BOTH(cudaStreamQuery, _ptsz, (Handle stream), return WithStream(stream, per_thread, QueryStream);)

BOTH(cudaStreamSynchronize, _ptsz, (Handle stream), Trace("%s %p", __func__, stream);
     return WithStream(stream, per_thread, SynchronizeStream);)

BOTH(cudaStreamWaitEvent, _ptsz, (Handle stream, Handle event, unsigned),
     return WithStream(stream, per_thread, [=](Stream& found) { return WaitEvent(found, event); });)

BOTH(cudaStreamAddCallback, _ptsz, (Handle stream, void (*function)(Handle, int, void*), void* argument, unsigned),
     return WithStream(stream, per_thread, [=](Stream& found) {
       return EnqueueWork(found, "host", [=] { function(stream, kSuccess, argument); });
     });)

API int cudaEventCreateWithFlags(Handle* event, unsigned) {
  *event = CreateEvent();
  return kSuccess;
}

API int cudaEventCreate(Handle* event) { return cudaEventCreateWithFlags(event, 0); }

API int cudaEventDestroy(Handle event) { return Return(DestroyEvent(event)); }

BOTH(cudaEventRecord, _ptsz, (Handle event, Handle stream), Trace("%s event=%p stream=%p", __func__, event, stream);
     return WithStream(stream, per_thread, [=](Stream& found) { return RecordEvent(event, found); });)

BOTH(cudaEventRecordWithFlags, _ptsz, (Handle event, Handle stream, unsigned),
     return WithStream(stream, per_thread, [=](Stream& found) { return RecordEvent(event, found); });)

API int cudaEventQuery(Handle event) { return Return(QueryEvent(event)); }

API int cudaEventSynchronize(Handle event) { return Return(SynchronizeEvent(event)); }

API int cudaEventElapsedTime(float* milliseconds, Handle start, Handle end) {
  return Return(ElapsedMilliseconds(milliseconds, start, end));
}

API int cudaEventElapsedTime_v2(float* milliseconds, Handle start, Handle end) {
  return Return(ElapsedMilliseconds(milliseconds, start, end));
}

API int cudaDeviceSynchronize() {
  Trace("cudaDeviceSynchronize");
  return Return(SynchronizeDevice(CurrentDevice()));
}
