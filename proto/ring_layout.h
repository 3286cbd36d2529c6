// The shared-memory region of one traced process: a memfd, made by libddbg.so and handed to the collector.
//
//     ┌──────────────┬───────────────────────────────┬───────────────────────────────────────────────┐
//     │ RegionHeader │ ThreadSlot × kMaxThreads      │ lane cells: slot 0 vital, slot 0 bulk, slot 1 …│
//     └──────────────┴───────────────────────────────┴───────────────────────────────────────────────┘
//
// Everything that is not yet on disk lives here, so that the collector can finish the trace of a process that
// died between any two instructions. The file is sparse: a page costs memory only once a thread has used it.
//
// Who writes what:
//   app thread   its own slot's in_flight, cells and LaneState::head
//   sender       LaneState::sent, RegionHeader::clock, frees slots of dead threads
//   collector    LaneState::written, after the cells below it are in the trace file; RegionHeader::write_error
//
// A lane is a single-producer ring of 64-byte cells. A cell is a Record, or the head of a definition
// (call == kCallDefinition, count == payload bytes) followed by ceil(count / 64) cells of payload: one protobuf
// `Definition` (ddbg.proto). Positions count cells since the process started and never wrap; cell i of a lane is
// at i % capacity. Times are ticks of the region's clock (see ClockSample).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ddbg {

inline constexpr uint64_t kRegionMagic = 0x3130474552474244;  // "DBGREG01"
inline constexpr uint32_t kRegionVersion = 1;
inline constexpr uint32_t kMaxThreads = 64;
inline constexpr uint32_t kMaxOpenRequests = 6;

enum LaneId : uint32_t { kVitalLane = 0, kBulkLane = 1 };  // collectives, life cycle, definitions | frequent calls
inline constexpr uint32_t kLanes = 2;
inline constexpr uint64_t kLaneCells[kLanes] = {16384, 32768};  // powers of two
inline constexpr uint64_t kCellBytes = 64;

// Call ids below kFirstCall are not calls.
inline constexpr uint16_t kCallDefinition = 0;  // count = payload bytes
inline constexpr uint16_t kCallLost = 1;        // start..start+duration: when; count = records; aux = LossCause
inline constexpr uint16_t kCallCompletion = 2;  // a request ended: aux = operation; peer, tag, count from its status
inline constexpr uint16_t kFirstCall = 16;      // index into the CallTable of the process + kFirstCall

enum RecordFlag : uint8_t {
  kFlagInPlace = 1,          // send side not significant (MPI_IN_PLACE)
  kFlagSecondHalf = 2,       // more of the call before it: receive half of a Sendrecv, further operations of a Startall
  kFlagCompletedAtPost = 4,  // request handle shared by completed operations: needs no wait
  kFlagUntracked = 8,        // the request table was full: completion will not be seen
  kFlagNothingDone = 16,     // a Test* or Iprobe that found nothing; a Wait on null requests; a refused collective
  kFlagFreed = 32,           // completion by MPI_Request_free, not by wait or test
  kFlagCancelled = 64,       // completion of a cancelled operation
  kFlagStatusUnknown = 128,  // completion whose status was not readable: peer, tag and count are as posted
  // Calls of NCCL and CUDA use the bits that mean nothing to them for:
  kFlagGrouped = 4,     // inside a group: begins at its end
  kFlagCapturing = 8,   // into a graph: runs when that is launched, as often as it is
  kFlagNested = 32,     // made by the library inside the call that the thread is in (driver level)
  kFlagPerThread = 64,  // by a _ptsz or _ptds name
  kFlagByPlugin = 128,  // told by NCCL's plugin interface, not seen as a call: no reduction operator, no duration
};

// One finished call, as the application thread saw it.
struct Record {
  uint64_t start;     // ticks
  uint64_t duration;  // ticks
  uint64_t count;     // elements, as the caller passed them (send side where there are two)
  uint32_t comm;      // id of a Communicator definition; 0: none or unknown
  uint32_t seq;       // collectives: n-th on this communicator from 0, on this process. Matched probes, and what
                      // receives the message that they took: its number, not 0
  uint32_t dtype;     // id of a Datatype definition; 0: none or unknown
  int32_t peer;       // root, destination or source; see kAny* below
  int32_t tag;
  uint32_t stack;  // id of a Stack definition; 0: none
  uint64_t aux;    // meaning by kind: operation number, receive side (RecvSide), new communicator, colour and key
  int32_t result;  // what the function returned
  uint16_t call;
  uint8_t op;     // ReduceOp
  uint8_t flags;  // RecordFlag
};
static_assert(sizeof(Record) == kCellBytes && alignof(Record) == 8);

// `peer` and `tag` values that mean something else than a number. Each ABI has its own; these are ddbg's.
inline constexpr int32_t kAnySource = -101;
inline constexpr int32_t kProcNull = -102;
inline constexpr int32_t kRootSelf = -103;  // MPI_ROOT in an inter-communicator
inline constexpr int32_t kAnyTag = -104;
inline constexpr int32_t kNoPeer = -105;

enum ReduceOp : uint8_t {
  kOpNone,
  kOpMax,
  kOpMin,
  kOpSum,
  kOpProd,
  kOpLand,
  kOpBand,
  kOpLor,
  kOpBor,
  kOpLxor,
  kOpBxor,
  kOpMaxloc,
  kOpMinloc,
  kOpReplace,
  kOpNoOp,
  kOpUser,
  kOpAvg,        // NCCL
  kOpPreMulSum,  // NCCL: made by ncclRedOpCreatePreMulSum
};

// The receive side of a collective with two (Gather, Scatter, Allgather, Alltoall), packed in Record::aux.
struct RecvSide {
  uint64_t count;  // < 2^40
  uint32_t dtype;  // < 2^24
  static constexpr uint64_t Pack(uint64_t count, uint32_t dtype) {
    return (count & 0xffffffffffu) | (static_cast<uint64_t>(dtype) << 40);
  }
  static constexpr RecvSide Unpack(uint64_t aux) { return {aux & 0xffffffffffu, static_cast<uint32_t>(aux >> 40)}; }
};

// The call a thread is in. Written before the real function runs, so a call that never returns is seen at once.
// `sequence` is odd while the call is open; it is a seqlock: the release store of an odd value publishes the
// fields, the reader's acquire load pairs with it and is repeated after the copy.
struct InFlight {
  std::atomic<uint32_t> sequence;
  uint32_t request_count;               // requests a Wait* or Test* was given, all of them
  uint64_t requests[kMaxOpenRequests];  // operation numbers of the first ones that are pending; 0: none
  Record half[2];                       // half[1].call != 0: the receive half of a Sendrecv
};

struct alignas(64) LaneState {
  std::atomic<uint64_t> head;  // cells published; release by the app thread, acquire by sender and collector
  uint64_t padding0[7];
  std::atomic<uint64_t> written;  // cells in the trace file; release by the collector, acquire by the app thread
  std::atomic<uint64_t> sent;     // cells given to the socket; sender only, reset to `written` on reconnect
  uint64_t padding1[6];
};

struct alignas(64) ThreadSlot {
  std::atomic<uint32_t> tid;  // as the process sees it; 0: free
  uint32_t padding[15];
  InFlight in_flight;
  LaneState lane[kLanes];
  std::atomic<uint64_t> lost[8];  // by LossCause (loss.def); relaxed, never reset
};

// Two clocks read at one instant. ns = monotonic_ns + (ticks - this.ticks) * ns_per_tick.
struct ClockSample {
  uint64_t ticks;
  int64_t monotonic_ns;  // CLOCK_MONOTONIC of the host (host_clock.h)
  int64_t realtime_ns;   // CLOCK_REALTIME
};

enum class ClockKind : uint32_t { kMonotonic = 0, kTsc = 1, kCntvct = 2 };  // kMonotonic: ticks are ns

struct RegionHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t max_threads;
  uint64_t region_bytes;
  uint64_t cells_offset;  // bytes from the start of the region to slot 0's vital lane
  ClockKind clock_kind;
  int32_t pid;                                   // as the process sees itself
  ClockSample clock_start;                       // taken when the region was made
  std::atomic<uint64_t> clock_ns_per_tick_bits;  // bit pattern of a double; 0: not calibrated yet
  std::atomic<uint32_t> exit_seen;               // 1: exit() ran and exit_code holds its status
  int32_t exit_code;
  std::atomic<uint32_t> abort_seen;  // 1: MPI_Abort was called
  std::atomic<int32_t> write_error;  // errno while the trace file cannot be written; 0: it can. By the collector
};
static_assert(sizeof(RegionHeader) <= 4096);

inline constexpr uint64_t kSlotsOffset = 4096;
inline constexpr uint64_t kSlotCells = kLaneCells[0] + kLaneCells[1];
inline constexpr uint64_t kCellsOffset = (kSlotsOffset + kMaxThreads * sizeof(ThreadSlot) + 4095) & ~uint64_t{4095};
inline constexpr uint64_t kRegionBytes = kCellsOffset + kMaxThreads * kSlotCells * kCellBytes;

// A mapped region. Trivial: both sides keep it by value.
struct Region {
  unsigned char* base = nullptr;
  RegionHeader* header() const { return reinterpret_cast<RegionHeader*>(base); }
  ThreadSlot* slot(uint32_t i) const { return reinterpret_cast<ThreadSlot*>(base + kSlotsOffset) + i; }
  Record* cells(uint32_t slot, uint32_t lane) const {
    uint64_t first = slot * kSlotCells + (lane == kBulkLane ? kLaneCells[kVitalLane] : 0);
    return reinterpret_cast<Record*>(base + kCellsOffset) + first;
  }
};

// What a lost record was lost to. Names and texts are in loss.def.
enum LossCause : uint32_t {
#define DDBG_LOSS(name, text) kLoss##name,
#include "proto/loss.def"
#undef DDBG_LOSS
  kLossCauses
};
static_assert(kLossCauses <= 8);

}  // namespace ddbg
