// Addresses to functions and source lines: after the run, from the files the process had loaded (elfutils libdwfl).
//
// A file is told apart by path and build-id and read once for all processes, since a thousand ranks share their
// binaries. A file that is missing here, or is not the one that ran (another build-id), gives module and offset only,
// and one sentence in caveats(). No debuginfod server is ever asked: DEBUGINFOD_URLS is taken out of the environment.
// One thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

class Symbolizer {
 public:
  Symbolizer();
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // The frames at one return address: calls that were inlined there first, the function itself last. Never empty;
  // what could not be found out is left empty or 0. Frame::offset and the lookup are of the byte before
  // the address, which lies in the call instruction.
  std::vector<Frame> Resolve(const Process& process, uint64_t return_address);

  // A whole stack, innermost first, nothing folded. Empty if `stack_id` is 0 or not in the trace. A function without a
  // symbol, such as the cold part of one in a stripped program, gets the name of what its caller calls there.
  std::vector<Frame> ResolveStack(const Process& process, uint32_t stack_id);

  // Why some frames have no function or line: one sentence a file.
  const std::vector<std::string>& caveats() const { return caveats_; }

 private:
  struct CodeFile;
  std::string FunctionCalledBefore(const Process& process, uint64_t return_address);
  CodeFile* Open(const Process& process, const Module& module);

  std::map<std::pair<std::string, std::string>, std::unique_ptr<CodeFile>> files_;  // by path and build-id
  std::vector<std::string> caveats_;
};

}  // namespace ddbg::analyzer
