// Who holds the others up in the loops of a run, told but not yet named: kinds and sentences are made of it.
#pragma once

#include <string>
#include <vector>

#include "analyzer/find/straggler_rounds.h"

namespace ddbg::analyzer {

// Culprits of one place in a loop that show the same pattern.
struct Lateness {
  Rounds rounds;
  std::vector<Straggle> culprits;  // by loss; more than one where they do the same
  double run_loss = 0;             // share of the whole loop that is lost to the first of them
  bool by_cpu = false;             // the rank waits for a CPU that something else has
  bool by_device = false;          // the excess is in calls that wait for the device or copy, not in host code
};

struct Latenesses {
  std::vector<Lateness> found;     // by loss, a rank in one of them only
  std::vector<std::string> notes;  // what is no fault and yet worth a sentence
  // An imbalance of nobody in particular: the worst one.
  const Rounds* nobody_in = nullptr;
  Judgement nobody;
  std::vector<Rounds> rounds;
};

// Work that the lowest rank of a communicator does alone, while the others have nothing to do and wait for it at a
// barrier or at a call site of its own, is how such programs are meant (evaluation, saving), and only noted.
Latenesses FindLatenesses(Context& context);

// "its own code between allreduce() at a.c:30 and …", of the place at whose end round `k` of `rounds` is.
std::string PlaceText(Context& context, const Rounds& rounds, size_t k);

}  // namespace ddbg::analyzer
