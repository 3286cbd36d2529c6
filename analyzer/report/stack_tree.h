// Where the ranks are, as one tree: the stacks of a run's calls merged from the outermost frame inwards, each node with
// the ranks that are in it (what STAT does for a stopped job). Times are of the run's axis. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/align/timeline.h"
#include "analyzer/model/model.h"
#include "analyzer/report/selection.h"
#include "analyzer/stacks/stack_view.h"
#include "analyzer/steps/steps.h"

namespace ddbg::analyzer {

struct StackSelection {
  enum Mode {
    kEnd,     // the open calls of each process; of one that is in none the last it made
    kAt,      // the same at at_ns
    kWindow,  // all calls that lie in [from_ns, to_ns] wholly or in part, with the time they took of it
  };
  Mode mode = kEnd;
  int64_t at_ns = 0;
  int64_t from_ns = 0, to_ns = 0;
  bool in_flight = false;        // no call that is over
  Selection part;                // of the ranks, communicators and steps; its times are those above
  const Steps* steps = nullptr;  // where `part` asks for some
};

class StackTree {
 public:
  // kIn: the call had not returned; kAfter: it was the process's last; kDuring: some time of the window.
  enum State { kIn, kAfter, kDuring };

  struct Node {
    Frame frame;  // no address; of a leaf empty
    // A leaf is a call: what ranks in equal calls share.
    bool leaf = false;
    std::string call, comm;
    int64_t seq = -1;  // not for kDuring
    State state = kIn;
    uint64_t calls = 0;
    int64_t longest_ns = 0;         // kIn: how long it was open; kAfter: since when it is over
    int64_t total_ns = 0;           // kDuring: within the window
    std::vector<size_t> processes;  // ascending
    std::vector<size_t> children;   // in the order in which they were first seen
  };

  // Node 0 is the root and has no frame. `views` gives each stack its frames.
  StackTree(const Run& run, const Timeline& timeline, const StackSelection& selection, StackViews* views);

  const std::vector<Node>& nodes() const { return nodes_; }
  // Processes without a call that could be shown.
  const std::vector<size_t>& without_call() const { return without_call_; }

 private:
  struct Place {
    size_t process, call;
    State state;
    int64_t ns;
  };

  bool IsWanted(size_t process, size_t call, const StackSelection& selection);
  void AddMoment(size_t process, const StackSelection& selection, int64_t own_ns);
  void AddWindow(size_t process, const StackSelection& selection);
  void Add(const Place& place);
  const std::vector<uint32_t>& FramesOf(const Process& process, uint32_t stack);
  size_t Child(size_t parent, uint32_t frame);
  size_t Leaf(size_t parent, const Place& place);
  void Enter(size_t node, size_t process);

  const Run& run_;
  const Timeline& timeline_;
  StackViews* views_;
  std::vector<Node> nodes_;
  std::vector<size_t> parents_;
  std::vector<size_t> without_call_;
  std::vector<Frame> frames_;                            // by id
  std::unordered_map<std::string, uint32_t> frame_ids_;  // by all that is shown of them
  // Outermost first, by what ranks of one program have in common (see StackKey in the source).
  std::unordered_map<uint64_t, std::vector<uint32_t>> stacks_;
  std::unordered_map<uint64_t, size_t> children_;   // by parent and frame id
  std::unordered_map<std::string, size_t> leaves_;  // by parent and call
  // of the process that is being added
  std::unordered_map<uint32_t, uint64_t> keys_;          // by stack id
  std::unordered_map<uint32_t, bool> comms_;             // by id: is it asked for
  std::unordered_map<uint64_t, size_t> leaf_of_window_;  // by stack and call
};

}  // namespace ddbg::analyzer
