// The files of one process, read in order as one trace, also while the collector turns them over. One thread.
#pragma once

#include <string>
#include <vector>

#include "proto/result.h"
#include "proto/trace_reader.h"

namespace ddbg::analyzer {

// The process that a file belongs to: any of its files stands for it.
std::string StemOf(const std::string& file);

class ProcessSource {
 public:
  // Opens all files of `stem` that are there. An error if there is none that can be read.
  static Result<ProcessSource> Open(const std::string& stem);

  bool Next(TraceChunk* chunk);
  std::vector<std::string> Damage() const;

  // Paths of the files, in the order of their content.
  std::vector<std::string> files() const;

 private:
  std::vector<TraceReader> readers_;
  std::vector<std::string> refusals_;  // files that are there and cannot be read
  size_t at_ = 0;
};

}  // namespace ddbg::analyzer
