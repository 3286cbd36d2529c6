// A stack as a person wants to see it: without the frames of ddbg, the MPI library and the start of the process, with
// Python's frames in place of those of its interpreter, and with the one source line that answers "where is this
// call?". One thread.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/stacks/symbolize.h"

namespace ddbg::analyzer {

struct StackView {
  std::vector<Frame> frames;  // folded, innermost first
  int source = -1;            // index into `frames` of THE line of this call; -1: no frame is left
  bool from_exit = false;     // the call was made while the process was exiting (exit handler, interpreter shutdown)

  const Frame* source_frame() const { return source < 0 ? nullptr : &frames[source]; }
};

// `frames` as Symbolizer::ResolveStack gives them; `paths` has the module's full path for each ("" if unknown).
// `python`: the frames of the interpreters that run in them, innermost first.
StackView FoldStack(std::vector<Frame> frames, const std::vector<std::string>& paths, std::vector<Frame> python = {});

// "step() at solver.c:42", or "step() in libhydro.so+0x1f30" if the line is unknown. "" for nullptr.
std::string DescribeFrame(const Frame* frame);

// Views of stacks, made once each: calls refer to the same few stacks again and again.
class StackViews {
 public:
  // Keeps a reference; the symbolizer must outlive the views, and processes must stay where they are.
  explicit StackViews(Symbolizer* symbolizer) : symbolizer_(symbolizer) {}
  const StackView& Of(const Process& process, uint32_t stack_id);

 private:
  Symbolizer* symbolizer_;
  std::unordered_map<const Process*, std::unordered_map<uint32_t, StackView>> views_;
};

}  // namespace ddbg::analyzer
