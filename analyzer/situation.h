// Where each process stands when the recording ends: in which call, finalized, gone, and whether its end was its own
// doing or came over it from outside.
#pragma once

#include <string>
#include <vector>

#include "analyzer/finding.h"
#include "analyzer/model.h"

namespace ddbg::analyzer {

enum class EndCause {
  kRunning,   // has not ended
  kNormal,    // exit 0 after MPI_Finalize (or it never used MPI)
  kFailed,    // exit code after MPI_Finalize: the program's own verdict on itself
  kOwn,       // signal or exit in the middle of the job: the first of them
  kFollowed,  // the same, but after another's kOwn: the launcher tears the job down
  kStopped,   // all ranks together, from outside: Ctrl-C, time limit
  kUnknown,   // gone, nobody saw how
};

struct Situation {
  size_t open_call = kNoIndex;  // blocking call the main thread is in, the longest open one if several threads are
  size_t last_call = kNoIndex;  // latest finished one
  bool initialized = false;     // MPI_Init returned, or calls show that it must have
  bool in_finalize = false;
  bool finalized = false;  // MPI_Finalize returned
  EndCause end = EndCause::kRunning;

  // Its last known state is what it was in when the recording stopped, not something it did.
  bool alive_at_end() const {
    return end == EndCause::kRunning || end == EndCause::kStopped || end == EndCause::kFollowed ||
           end == EndCause::kUnknown;
  }
};

struct Situations {
  std::vector<Situation> of;  // by process index
  bool stopped_from_outside = false;
  std::string stop;    // "all 4 ranks ended by SIGINT within 3 ms"
  int64_t end_ns = 0;  // until when the recording says anything: the first end that matters, or the last event
};

Situations Assess(const Run& run);

// "ended by SIGKILL", "exited with code 3", "still running".
std::string DescribeEnd(const ProcessEnd& end);
// "SIGKILL" of 9.
std::string SignalName(int signal);

}  // namespace ddbg::analyzer
