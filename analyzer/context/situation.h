// Where each process stands when the recording ends: in which call, finalized, gone, and whether its end was its own
// doing or came over it from outside.
#pragma once

#include <string>
#include <vector>

#include "analyzer/align/timeline.h"
#include "analyzer/model/finding.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

enum class EndCause {
  kRunning,   // has not ended
  kNormal,    // exit 0, and after MPI_Finalize if it used MPI
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
  bool uses_nccl = false, uses_gloo = false;
  bool communicates = false;  // made a call of MPI, NCCL or gloo: a rank, not a helper of one
  bool joins = false;         // told that it joins a process group of PyTorch's, whatever came of it
  bool gave_up = false;  // ended itself, or was ended by its watchdog, after it had waited for others or its device
  int64_t until_ns = INT64_MAX;  // Situations::hang_end_ns by its own clock
  bool outlived_hang = false;    // what it did after Situations::hang_end_ns is how the hang was ended
  bool in_finalize = false;
  bool finalized = false;  // MPI_Finalize returned
  EndCause end = EndCause::kRunning;

  // Its last known state is what it was in when the recording stopped, not something it did.
  bool alive_at_end() const {
    return end == EndCause::kRunning || end == EndCause::kStopped || end == EndCause::kFollowed ||
           end == EndCause::kUnknown || outlived_hang;
  }
};

struct Situations {
  std::vector<Situation> of;  // by process index
  bool stopped_from_outside = false;
  std::string stop;  // "all 4 ranks ended by SIGINT within 3 ms"
  // Times are of the run's axis.
  int64_t end_ns = 0;  // until when the recording says anything: the first end that matters, or the last event
  // When a communicator was aborted, or said that it is broken, and the job did not recover from it: that ends a story,
  // often a hang that a watchdog saw, and lets calls return. Where everybody stood is looked at just before.
  // INT64_MAX: never.
  int64_t hang_end_ns = INT64_MAX;
  bool hang_ended() const { return hang_end_ns != INT64_MAX; }
};

Situations Assess(const Run& run, const Timeline& timeline);

// "ended by SIGKILL", "exited with code 3", "still running".
std::string DescribeEnd(const ProcessEnd& end);
// "SIGKILL" of 9.
std::string SignalName(int signal);

}  // namespace ddbg::analyzer
