// Finds the turns of a program's main loop in the sequence of what one process communicates. Knows no MPI and no run: a
// sequence in, places in it out.
//
// A turn is delimited by a call that is in each. Which call is a matter of levels: what is made several times a turn
// (layers, micro-batches, buckets) recurs more often, what is made now and then (logging, evaluation, checkpoints)
// less. The innermost loop whose turns are all alike is taken; it is part of a larger turn if the turns of the larger
// one
//   * end in a reduction of more data than any within (gradients after micro-batches or after layers), or
//   * end in a reduction of a few elements where none is within (a residual after exchanges of several fields), or
//   * consist of calls that follow each other with no work in between (buckets).
// A loop whose parts are conserved over a larger turn only is no loop: the forward passes of a pipeline that fills and
// drains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ddbg::analyzer {

struct LoopCall {
  uint64_t family = 0;  // what it is, but for its size: function, communicator, peer, call site
  uint64_t count = 0;   // elements
  uint64_t bytes = 0;   // 0: not known
  uint32_t comm = 0;
  bool reduces = false;    // brings data of the ranks together by an operator
  bool only_init = false;  // of a kind that alone is no step: broadcasts, making of communicators
  bool ends_step = false;  // by its call site: an optimizer's norm of the gradients
  bool has_site = false;   // `family` holds the call site, so that even one recurrence shows a loop
  int64_t start_ns = 0, duration_ns = 0;
};

struct Loop {
  size_t first = 0;          // of the first turn
  std::vector<size_t> last;  // by turn: its last call
  size_t open_end = 0;       // past the calls of a turn that was begun and not ended; last.back() + 1 if there is none
  size_t calls_a_turn = 0;   // ordinarily
  size_t lacking_turns = 0;  // that have less
  size_t odd_turns = 0;      // that have more or less than the ordinary one
  size_t delimiter = 0;      // a call by which turns are counted
};

// `cut_off`: the sequence does not begin with the program, so that its first turn need not be whole.
std::optional<Loop> FindLoop(const std::vector<LoopCall>& calls, bool cut_off);

}  // namespace ddbg::analyzer
