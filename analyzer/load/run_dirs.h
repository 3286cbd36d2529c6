// From what people type for RUN to the trace files of one attempt. Layout of the directories: proto/FORMAT.md.
// Reads the file system, changes nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "proto/result.h"

namespace ddbg::analyzer {

struct RunFiles {
  std::string dir;                 // the attempt's directory; of the first file if they come from several
  std::vector<std::string> files;  // *.ddbg, sorted, each once
};

// Where run ids are looked up: $DDBG_DIR if set, else ./ddbg-runs.
std::string RunsDirectory();

// Each name is a trace file, an attempt directory, a run directory, a directory of runs that has a `latest`, or a run
// id (or `latest`, or the unique beginning of a run id) below `runs_dir`. A run stands for its last attempt. Several
// names are parts of one run, such as its nodes when they share no file system. `attempt`: that one and not the last.
Result<RunFiles> ResolveRun(const std::vector<std::string>& names, const std::string& runs_dir,
                            std::optional<unsigned> attempt = std::nullopt);

// The attempt directory with the highest number below a run's directory; "" if there is none.
std::string LastAttempt(const std::string& run_dir);

// *.ddbg in one directory, sorted.
std::vector<std::string> ListTraceFiles(const std::string& dir);

}  // namespace ddbg::analyzer
