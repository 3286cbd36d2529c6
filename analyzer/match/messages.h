// Point-to-point messages: every send and receive of the run, and which belongs to which. Within (communicator, source,
// destination, tag) messages do not overtake each other, so the k-th send meets the k-th receive (MPI 4.1, 3.5). NCCL
// has no tags: all messages of a pair are of one. What MPI_Mrecv receives was taken from the others by MPI_Mprobe: its
// end stands where that was called (MPI 4.1, 3.8.2).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analyzer/model/finding.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct Channel {
  uint64_t comm_uid;
  int32_t source, destination;  // ranks in the communicator
  auto operator<=>(const Channel&) const = default;
};

// One end of a message.
struct End {
  size_t process = kNoIndex;
  size_t call = kNoIndex;  // that posted it
  int32_t tag = 0;         // resolved if it completed; kAnyTag else, where posted so
  uint64_t operation = 0;  // non-blocking: its number; 0: blocking
  bool completed = false;  // the call returned, or a wait or test completed the operation
  bool cancelled = false;
  bool failed = false;      // a receive whose message, the one that stands here, had no room
  bool only_taken = false;  // `call` is a matched probe, and nothing has received its message yet
  size_t partner = kNoIndex;  // index in the other list of its channel, or kPartnerDropped
};

// The other end is known, but its detail was dropped.
inline constexpr size_t kPartnerDropped = kNoIndex - 1;

// Ends of one tag that came before those in the lists, whose detail was dropped.
struct Passed {
  uint64_t sends = 0, receives = 0;
};

struct ChannelEnds {
  bool nccl = false;
  std::vector<End> sends, receives;  // in the order they were posted
  std::map<int32_t, Passed> passed;  // by tag
};

struct Messages {
  std::map<Channel, ChannelEnds> channels;
  bool uncounted = false;  // of dropped detail nobody knows how many there were: partners are guesses
  // Receives that never completed and could come from anyone: by process, with the communicator.
  struct Wild {
    size_t process, call;
    uint64_t comm_uid;
    uint64_t operation;
    int32_t tag;
  };
  std::vector<Wild> wild;
  // operation number → the call that posted it, by process
  std::vector<std::unordered_map<uint64_t, size_t>> posted;
};

Messages MatchMessages(const Run& run);

}  // namespace ddbg::analyzer
