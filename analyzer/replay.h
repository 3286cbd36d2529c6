// Could all that was put on the streams of all processes have been carried out? Plays it through once: an operation is
// done when every member of its communicator has come to it on its own stream. What is left over can never be done, as
// things stand; the first item of each lane that is left says what it lacks.
//
// Needs no times and no proof that anything ended; where there is proof, it is believed. An operation on another stream
// holds nobody up unless an event makes it: that two kernels fit on a device at once is taken for granted here.
// Linear in the number of operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/match.h"
#include "analyzer/streams.h"

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
  int64_t until_ns = INT64_MAX;
  // Groups in which some members captured a call into a graph and others did not: from which sequence number on nobody
  // can say what was carried out.
  std::vector<size_t> undecided_from;  // by group; kNoIndex: everything is known

  const StreamLane& Of(const ReplayLane& lane) const { return streams[lane.process].lanes[lane.lane]; }
  bool IsStuck(const ReplayLane& lane) const { return lane.head < Of(lane).items.size(); }
};

Replay PlayThrough(const Run& run, const Matching& matching, int64_t until_ns);

// What the head of a stuck lane lacks; empty if it is not stuck.
std::vector<Lack> LacksOf(const Context& context, size_t lane);

}  // namespace ddbg::analyzer
