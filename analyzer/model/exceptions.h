// Exceptions of Python that nobody caught, as the hooks in PyTorch tell them (shim/python/ddbg_bridge/ends.py).
#pragma once

#include <string>
#include <vector>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct Exception {
  size_t call = 0;        // the event's index into Process::calls
  std::string what;       // "ValueError: sample 3 has no label"
  std::string type;       // "ValueError"
  Frame place;            // the program's innermost line; no file if it is not known
  bool in_main = true;    // else in another thread, which alone it ended
  bool of_peers = false;  // another rank was lost or did not come: by its type and words, the end of a wait for others
};

// In the order in which they were raised.
std::vector<Exception> ExceptionsOf(const Process& process);

}  // namespace ddbg::analyzer
