// The files of one process, read in order as one trace, also while the collector turns them over. One thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "analyzer/load/trace_directory.h"
#include "proto/result.h"
#include "proto/trace_reader.h"

namespace ddbg::analyzer {

// The process that a file belongs to: any of its files stands for it.
std::string StemOf(const std::string& file);

class ProcessSource {
 public:
  // How far a file was read; it is told by its inode, since it is renamed when it becomes a part.
  struct Place {
    ino_t inode;
    uint64_t position, frames;
  };

  // Opens all files of `stem` that are there. An error if there is none that can be read.
  static Result<ProcessSource> Open(const std::string& stem, TraceDirectory* directory);

  // Goes on behind what was read before. False, and nothing is passed over, if something was written anew meanwhile:
  // then the process is to be read again from its beginning.
  bool Resume(const std::vector<Place>& places);
  std::vector<Place> Places() const;

  bool Next(TraceChunk* chunk);
  std::vector<std::string> Damage() const;

  // Of all files: bytes there are, and those of the frames that Next has passed.
  uint64_t bytes() const;
  uint64_t bytes_read() const;

  // Paths of the files, in the order of their content.
  std::vector<std::string> files() const;

 private:
  std::vector<TraceReader> readers_;
  std::vector<std::string> refusals_;  // files that are there and cannot be read
  size_t at_ = 0;
};

}  // namespace ddbg::analyzer
