// A process's calls in lanes, for comparing runs (run_diff.h): a number for each call that is equal where the calls
// are, and lanes whose numbers are equal in two runs where they are the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/stacks/stack_view.h"

namespace ddbg::analyzer {

struct CallLane {
  uint64_t key = 0;
  std::string name;                  // "collectives on MPI_COMM_WORLD"
  std::vector<uint64_t> signatures;  // one a call
  std::vector<uint32_t> calls;       // indexes into Process::calls
};

class CallLanes {
 public:
  // `by_function`: call sites are chains of functions, else places in files.
  CallLanes(const Process& process, bool by_function, StackViews* views);

  const std::vector<CallLane>& lanes() const { return lanes_; }
  // Of the call site; 0: nothing to compare.
  uint64_t Site(uint32_t stack);
  // Of a communicator, without its uid where that is random.
  uint64_t CommKey(uint32_t comm);

  // What of the two calls differs first; field "" if nothing that is compared.
  struct Change {
    std::string field, expected, actual;
  };
  Change Compare(const Call& own, CallLanes& other, const Call& others);

 private:
  void Add(size_t call);
  CallLane& LaneOf(const Call& call);
  uint64_t Signature(const Call& call);
  std::string SiteText(const Call& call);

  const Process& process_;
  bool by_function_;
  StackViews* views_;
  std::vector<CallLane> lanes_;
  std::unordered_map<uint64_t, size_t> lane_of_;  // by key
  std::unordered_map<uint64_t, uint64_t> lane_keys_;
  std::unordered_map<uint32_t, uint64_t> sites_, comm_keys_, dtypes_;
  std::vector<uint32_t> nccl_comms_;  // ids, in the order they were made
};

// Is the call compared at all?
bool IsCompared(const Call& call);

}  // namespace ddbg::analyzer
