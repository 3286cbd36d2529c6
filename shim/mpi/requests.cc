#include "shim/mpi/requests.h"

#include "proto/call.h"
#include "shim/mpi/abi_values.h"
#include "shim/recorder/ids.h"

namespace ddbg::shim::mpi {
namespace {

uint64_t Key(Word handle) { return static_cast<uint64_t>(handle); }

// Complete from the start and shared by any number of operations: &ompi_request_empty; MPICH's built-in requests, whose
// handle kind (top two bits) is 01 (mpi.h: 0x6c0000xx).
bool IsSharedCompleted(Word handle) {
  if (g_abi.family == Family::kMpich) return (static_cast<uint32_t>(handle) >> 26) == (0x6c000000u >> 26);
  // Behind the standard's interface MPICH's built-in requests keep their numbers.
  if (g_abi.family == Family::kStandard)
    return handle <= DDBG_STANDARD_LAST_PREDEFINED || static_cast<uint64_t>(handle) >> 26 == (0x6c000000u >> 26);
  return handle == g_abi.request_empty && handle != 0;
}

Record CompletionOf(const Record& by, const Pending& pending) {
  Record record = {};
  record.call = kCallCompletion;
  record.start = by.start;
  record.duration = by.duration;
  record.count = pending.count;
  record.comm = pending.comm;
  record.dtype = pending.dtype;
  record.peer = pending.peer;
  record.tag = pending.tag;
  record.aux = pending.operation;
  record.flags = pending.cancelled ? kFlagCancelled : 0;
  return record;
}

}  // namespace

void PostRequest(ThreadState& t, Word handle, Pending pending) noexcept {
  Record& record = t.slot->in_flight.half[0];
  record.aux = pending.operation = NextOperation();
  if (IsSharedCompleted(handle) || handle == g_abi.request_null) {
    record.flags |= kFlagCompletedAtPost;
    return;
  }
  if (Pending* old = g_tables->requests.Find(Key(handle))) {
    // The library uses the handle again, so the operation it stood for is over, however that went unseen.
    if (old->operation) {
      Record ended = CompletionOf(record, *old);
      ended.flags |= kFlagStatusUnknown;
      Push(t, kBulkLane, ended);
    }
    *old = pending;
    return;
  }
  if (!g_tables->requests.Insert(Key(handle), pending)) record.flags |= kFlagUntracked;
}

void AddPersistent(Word handle, Pending pending) noexcept {
  pending.persistent = 1;
  pending.operation = 0;
  g_tables->requests.Remove(Key(handle));
  g_tables->requests.Insert(Key(handle), pending);
}

Pending StartPersistent(Word handle) noexcept {
  Pending* pending = g_tables->requests.Find(Key(handle));
  if (!pending || !pending->persistent) return {};
  pending->operation = NextOperation();
  return *pending;
}

Pending LookUp(Word handle) noexcept {
  if (handle == g_abi.request_null) return {};
  Pending* pending = g_tables->requests.Find(Key(handle));
  return pending ? *pending : Pending{};
}

void Forget(Word handle, const Pending& pending) noexcept {
  if (!pending.persistent) {
    g_tables->requests.Remove(Key(handle));
  } else if (Pending* kept = g_tables->requests.Find(Key(handle))) {
    kept->operation = 0;
    kept->cancelled = 0;
  }
}

void MarkCancelled(Word handle) noexcept {
  if (Pending* pending = g_tables->requests.Find(Key(handle))) pending->cancelled = 1;
}

bool LookUpAll(ThreadState& t, const void* requests, int count, uint32_t status_bytes, Completions* out) noexcept {
  if (count < 0 || !requests) count = 0;
  uint64_t each = sizeof(Pending) + sizeof(Word) + status_bytes;
  char* memory = static_cast<char*>(Scratch(t, each * count + 64));
  InFlight& in_flight = t.slot->in_flight;
  in_flight.request_count = static_cast<uint32_t>(count);
  for (uint64_t& request : in_flight.requests) request = 0;
  if (!memory) return false;
  out->pending = reinterpret_cast<Pending*>(memory);
  out->handles = reinterpret_cast<Word*>(memory + sizeof(Pending) * count);
  out->statuses = status_bytes ? memory + (sizeof(Pending) + sizeof(Word)) * count : nullptr;
  out->count = count;
  uint32_t shown = 0;
  for (int i = 0; i < count; ++i) {
    out->handles[i] = g_abi.ReadHandle(requests, i);
    out->pending[i] = LookUp(out->handles[i]);
    if (!out->pending[i].operation) continue;
    out->any_known = true;
    if (shown < kMaxOpenRequests) in_flight.requests[shown++] = out->pending[i].operation;
  }
  return true;
}

void ResolveFromStatus(Record& record, const Pending& pending, const void* status) noexcept {
  if (!pending.receives) return;
  if (!status) {
    if (pending.peer == kAnySource || pending.tag == kAnyTag) record.flags |= kFlagStatusUnknown;
    return;
  }
  int32_t source = g_abi.StatusSource(status), tag = g_abi.StatusTag(status);
  // MPICH 4.0 leaves anything in the status of an Isendrecv.
  bool may_be =
      (pending.peer == kAnySource || source == pending.peer) && (pending.tag == kAnyTag || tag == pending.tag);
  if (!may_be) {
    record.flags |= kFlagStatusUnknown;
    return;
  }
  record.peer = source;
  record.tag = tag;
}

void PushCompletion(ThreadState& t, const Record& by, const Pending& pending, const void* status) noexcept {
  Record record = CompletionOf(by, pending);
  ResolveFromStatus(record, pending, status);
  Push(t, kBulkLane, record);
}

}  // namespace ddbg::shim::mpi
