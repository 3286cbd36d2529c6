// The process-wide part of the recorder: made on the first recorded call, replaced in a forked child that records.
// For shim/recorder only.
#pragma once

#include <sys/types.h>

#include <atomic>

#include "proto/ring_layout.h"
#include "shim/recorder/identity.h"
#include "shim/recorder/own_file.h"
#include "shim/recorder/settings.h"

namespace ddbg::shim {

// Has the collector got the region? Until then a record dies with the process.
enum class Handover : uint32_t { kPending, kDone, kHopeless };

struct Recorder {
  Settings settings;
  Region region;
  OwnFile memfd;
  pid_t pid = 0;
  uint64_t generation = 0;
  LauncherWords launcher;  // read on the application's thread: it may change its environment later
  std::atomic<Handover> handover{Handover::kPending};  // by the sender; read at exit
};

Recorder* CurrentRecorder() noexcept;

// Says so on stderr, once, if the collector cannot write the trace file. Sender, and the application's thread at exit.
void SayIfUnwritten(const Recorder& recorder);

}  // namespace ddbg::shim
