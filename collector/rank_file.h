// Which file the trace of a process goes to, and going on with it.
#pragma once

#include <string>
#include <string_view>

#include "collector/wire_chunk.h"
#include "proto/result.h"
#include "proto/trace_writer.h"

namespace ddbg::collector {

struct RankFile {
  TraceWriter writer;
  bool resumed = false;    // the process has written to it before
  std::string last_chunk;  // of a resumed file: its last frame, which may not have been acknowledged in the region
};

// Opens rank-<rank>.ddbg in `directory` if the rank is known and no other process has it, else proc-<host>-<pid>.ddbg,
// else proc-<host>-<pid>-<n>.ddbg. A new file begins with `hello_chunk`, the process's first frame.
Result<RankFile> OpenRankFile(const std::string& directory, const Hello& hello, std::string_view hello_chunk);

}  // namespace ddbg::collector
