// Could all that was put on the streams of all processes have been carried out? Plays it through once: an operation is
// done when every member of its communicator has come to it on its own stream. What is left over can never be done, as
// things stand; the first item of each lane that is left says what it lacks.
//
// Needs no times and no proof that anything ended; where there is proof, it is believed. An operation on another stream
// holds nobody up unless an event makes it: that two kernels fit on a device at once is taken for granted here.
// Linear in the number of operations.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/context/situation.h"
#include "analyzer/context/streams.h"
#include "analyzer/match/match.h"

namespace ddbg::analyzer {

class Context;

// Why the item at the head of a lane is not done.
struct Lack {
  enum Why {
    kNeverCalled,  // `process` did not make the call
    kNotBegun,     // it did, but it failed, had no elements, or its group has not ended
    kBehind,       // it did, and on its stream something else comes first
    kSameProcess,  // it waits, by an event, for another stream of its own process
  } why = kNeverCalled;
  size_t process = kNoIndex;
  size_t lane = kNoIndex;     // kBehind, kSameProcess: index into Replay::lanes
  size_t waiting = kNoIndex;  // the operation of the lane's own process that lacks it
  size_t made = kNoIndex;     // kNotBegun, kBehind: the call of `process`
  bool message = false;       // of a send or receive; else a collective
  bool sends = false;
};

struct ReplayLane {
  size_t process = kNoIndex;
  size_t lane = 0;  // index into its ProcessStreams::lanes
  size_t head = 0;  // items below were played
};

struct Replay {
  std::vector<ProcessStreams> streams;  // by process
  std::vector<ReplayLane> lanes;
  std::vector<std::vector<size_t>> first_lane;  // by process and its lane: index into `lanes`
  std::vector<int64_t> until_ns;                // by process, its own clock: what began then or later was left out
  // Groups in which some members captured a call into a graph and others did not: from which sequence number on nobody
  // can say what was carried out.
  std::vector<size_t> undecided_from;  // by group; kNoIndex: everything is known

  const StreamLane& Of(const ReplayLane& lane) const { return streams[lane.process].lanes[lane.lane]; }
  bool IsStuck(const ReplayLane& lane) const { return lane.head < Of(lane).items.size(); }
};

// Until the end of the hang, where there was one.
Replay PlayThrough(const Run& run, const Matching& matching, const Situations& situations);

// What the heads of stuck lanes lack. Where thousands wait in one collective, who lacks there is looked for once.
class LacksFinder {
 public:
  explicit LacksFinder(const Context& context) : context_(context) {}

  // Empty if the lane is not stuck.
  std::vector<Lack> Of(size_t lane);

 private:
  class Search;

  // Of one member of a communicator, without who waits for it.
  struct OfMember {
    uint32_t comm_id;
    Lack lack;
  };

  const Context& context_;
  std::map<std::pair<size_t, uint32_t>, std::vector<OfMember>> collectives_;  // by group and sequence number
};

}  // namespace ddbg::analyzer
