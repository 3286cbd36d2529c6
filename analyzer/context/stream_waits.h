// The part of streams in who waits for whom (waits.h): nodes of streams that are stuck, and what a program waits for
// that is in a call of NCCL or CUDA.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyzer/context/waits.h"

namespace ddbg::analyzer {

class StreamWaits {
 public:
  explicit StreamWaits(Context& context);

  // In the order of their numbers, which follow those of the processes.
  std::vector<WaitNode> StreamNodes();
  // Edges of a program that is in this call.
  void AddCall(size_t process, size_t index, WaitNode* node);
  // What a program in its own code may be waiting for.
  void AddPerhaps(size_t process, WaitNode* node);

 private:
  WaitNode StreamNode(size_t lane);
  WaitEdge EdgeTo(size_t target, size_t process, size_t index);
  void AddLane(size_t process, size_t lane, size_t call, WaitKind kind, std::vector<WaitEdge>* edges);
  size_t LauncherOf(size_t index) const;
  std::vector<size_t> StuckLanes(size_t process) const;
  size_t StuckLane(size_t process, int32_t stream) const;
  void AddStream(size_t process, int32_t stream, size_t call, WaitNode* node);
  void AddAllStreams(size_t process, size_t call, WaitNode* node);
  void AddOwnStream(size_t process, const Call& call, size_t index, WaitNode* node);
  void AddEventSync(size_t process, size_t index, WaitNode* node);
  void AddGroupEnd(size_t process, size_t index, WaitNode* node);
  void AddTeardown(size_t process, size_t index, WaitNode* node);
  bool HoldsComm(size_t index, uint32_t comm) const;
  bool EndsComm(const Member& member);

  Context& context_;
  std::vector<size_t> node_of_lane_;                                // kNoIndex: not stuck
  std::unordered_map<size_t, std::unordered_set<uint32_t>> ended_;  // by process, once asked for: communicators
  size_t most_edges_;
  LacksFinder lacks_;
};

}  // namespace ddbg::analyzer
