// What `ddbg run` does to make a job traced: finds libddbg.so and ddbg-collector, prepares the job's environment, and
// starts the collector early. Changes nothing of the own process.
#pragma once

#include <string>
#include <vector>

#include "analyzer/model/environment.h"
#include "proto/result.h"

namespace ddbg::analyzer {

// Where libddbg.so is: $DDBG_LIBRARY, else beside `program_dir` as installed (../lib) or as built. The error says where
// it was looked for.
Result<std::string> FindLibrary(const std::string& program_dir, const Environment& environment);

// $DDBG_COLLECTOR, else beside `program_dir`. "" if there is none: the library starts one itself if it can.
std::string FindCollector(const std::string& program_dir, const Environment& environment);

// Directory of the running program.
std::string ProgramDirectory();

struct Preload {
  std::string library;  // absolute
  std::string dir;      // absolute: DDBG_DIR
  std::string run_id;
};

// Sets DDBG_DIR, DDBG_RUN_ID and LD_PRELOAD (before what is there already), and NVTX_INJECTION64_PATH where no profiler
// has that place or is about to be started, and has Open MPI's mpirun pass them on to other nodes; leads Python to the
// bridge. `command` is looked at, since Open MPI aborts a job that passes variables in two ways.
void PrepareEnvironment(const Preload& preload, const std::vector<std::string>& command, Environment* environment);

// The library starts a collector again when there is none, and looks for it as installed. In a build tree it has to be
// told where `collector` is, by DDBG_COLLECTOR.
void LetLibraryFindCollector(const std::string& library, const std::string& collector, Environment* environment);

// Runs ddbg-collector, which goes to the background by itself, and waits for that (at most 5 s). The error is a
// sentence; the job can run all the same.
Result<void> StartCollector(const std::string& collector, const Environment& environment);

}  // namespace ddbg::analyzer
