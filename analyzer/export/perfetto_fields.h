// The numbers of Perfetto's published trace format that ddbg writes: github.com/google/perfetto,
// protos/perfetto/trace/, in trace_packet.proto, clock_snapshot.proto, interned_data/interned_data.proto and of
// track_event/ track_event.proto, track_descriptor.proto, process_descriptor.proto, thread_descriptor.proto,
// debug_annotation.proto. They are stable by protobuf's own rule: a number is never used for something else.
#pragma once

#include <cstdint>

namespace ddbg::analyzer::perfetto {

namespace trace {
enum : uint32_t { kPacket = 1 };
}

namespace packet {
enum : uint32_t {
  kClockSnapshot = 6,
  kTimestamp = 8,
  kSequenceId = 10,
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kTrackDescriptor = 60,
  kFirstPacketOnSequence = 87,
};
enum : uint32_t { kIncrementalStateCleared = 1, kNeedsIncrementalState = 2 };  // of kSequenceFlags
}  // namespace packet

namespace clock_snapshot {
enum : uint32_t { kClocks = 1 };
enum : uint32_t { kClockId = 1, kClockTimestamp = 2 };  // of a clock
enum : uint32_t { kRealtime = 1, kBoottime = 6 };       // clock ids; timestamps are BOOTTIME if nothing is said
}  // namespace clock_snapshot

namespace track {
enum : uint32_t {
  kUuid = 1,
  kName = 2,
  kProcess = 3,
  kThread = 4,
  kParentUuid = 5,
  kSiblingOrderRank = 12,
};
enum : uint32_t { kPid = 1, kCommandLine = 2, kProcessName = 6 };  // of a process
enum : uint32_t { kThreadPid = 1, kTid = 2, kThreadName = 5 };     // of a thread
}  // namespace track

namespace event {
enum : uint32_t {
  kCategoryIids = 3,
  kDebugAnnotations = 4,
  kType = 9,
  kNameIid = 10,
  kTrackUuid = 11,
  kFlowIds = 47,             // fixed64
  kTerminatingFlowIds = 48,  // fixed64
};
enum : uint32_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3 };  // of kType
}  // namespace event

namespace annotation {
enum : uint32_t { kNameIid = 1, kBool = 2, kUint = 3, kInt = 4, kDouble = 5, kString = 6, kStringIid = 17 };
}

namespace interned {
enum : uint32_t { kEventCategories = 1, kEventNames = 2, kAnnotationNames = 3, kAnnotationStrings = 29 };
enum : uint32_t { kIid = 1, kText = 2 };  // of each entry
}  // namespace interned

}  // namespace ddbg::analyzer::perfetto
