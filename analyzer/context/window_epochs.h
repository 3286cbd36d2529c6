// Who waits for whom in the epochs of active targets (MPI 4.1, 12.5.2): MPI_Win_start, or what follows it, waits for
// the MPI_Win_post of each rank that it names, MPI_Win_wait for the MPI_Win_complete of each that the post named. Of
// two ranks the n-th start of the one that names the other meets the n-th post of that one which names the first.
#pragma once

#include <vector>

#include "analyzer/context/waits.h"

namespace ddbg::analyzer {

class WindowEpochs {
 public:
  explicit WindowEpochs(Context& context) : context_(context), most_edges_(MostEdges(context)) {}

  // Edges of a program that is in this call of starting, completing or waiting, or of one-sided communication.
  void AddCall(size_t process, size_t index, WaitNode* node);

 private:
  void AddPosts(size_t process, size_t index, WaitNode* node);
  void AddCompletes(size_t process, size_t index, WaitNode* node);
  void AddEdge(size_t process, size_t index, size_t to, const char* awaits, WaitNode* node);
  bool IsCounted(size_t process, uint64_t window) const;

  Context& context_;
  size_t most_edges_;
};

}  // namespace ddbg::analyzer
