// What records of non-blocking operations and messages have to do with each other. Pure functions of a record's fields;
// `kind` is nullptr for kCallCompletion and for calls that this build does not know.
#pragma once

#include <cstdint>

#include "proto/call.h"

namespace ddbg {

enum class Direction { kNone, kSend, kReceive };

// PushStarts in shim/mpi/completions.h: Record::op of a started persistent operation is its direction, or 3: a collective.
inline constexpr uint8_t kStartedSend = 1, kStartedReceive = 2, kStartedCollective = 3;

inline Direction DirectionOf(const CallInfo& info, uint8_t op, uint8_t flags) {
  switch (info.kind) {
    case CallKind::Send: return Direction::kSend;
    case CallKind::Recv:
    case CallKind::Mrecv: return Direction::kReceive;
    case CallKind::Sendrecv: return flags & kFlagSecondHalf ? Direction::kReceive : Direction::kSend;
    case CallKind::Start:
      return op == kStartedSend ? Direction::kSend : op == kStartedReceive ? Direction::kReceive : Direction::kNone;
    default: return Direction::kNone;
  }
}

// Begins an operation that a later record completes? Record::aux is its number.
inline bool PostsOperation(const CallInfo& info) { return info.has_request || info.kind == CallKind::Start; }

// A start of a persistent collective: an instance of it, numbered on the communicator of kind "persistent".
inline bool IsCollectiveStart(CallKind kind, uint8_t op) { return kind == CallKind::Start && op == kStartedCollective; }

// Says of the operation with the number `aux` that it is over: a completion record, or a finished call that completed
// it alone.
inline bool CompletesOperation(const CallInfo* info, uint16_t call, uint64_t aux, uint8_t flags) {
  if (aux == 0 || (flags & kFlagNothingDone)) return false;
  if (call == kCallCompletion) return true;
  return info && (info->kind == CallKind::Wait || info->kind == CallKind::Test || info->kind == CallKind::RequestFree);
}

// Tells how the job began, changed and went wrong: kept when the rest of a long run's detail is dropped.
inline bool StaysForGood(const CallInfo* info, uint16_t call, int32_t result) {
  if (call == kCallLost) return true;
  if (!info) return false;
  switch (info->kind) {
    case CallKind::Init:
    case CallKind::Finalize:
    case CallKind::Abort:
    case CallKind::CommCreate:
    case CallKind::CommFree:
    case CallKind::Disconnect:
    case CallKind::SessionInit:
    case CallKind::SessionFinalize:
    case CallKind::Spawn:
    case CallKind::Connect:
    case CallKind::CommParent:
    case CallKind::WinCreate:
    case CallKind::WinFree:
    case CallKind::FileOpen:
    case CallKind::FileClose:
    case CallKind::UniqueId:
    case CallKind::CommInit:
    case CallKind::CommFinalize:
    case CallKind::CommAbort:
    case CallKind::CommRevoke:
    case CallKind::Event: return true;
    default: return result != 0;
  }
}

}  // namespace ddbg
