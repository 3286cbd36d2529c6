// The one thread ddbg adds to a process: it drains the rings into the collector's socket. It blocks all signals, holds
// no lock the program could want, and may be late or dead without harm: the collector reads the region itself then.
#pragma once

namespace ddbg::shim {

struct Recorder;

// Creates the thread. False if the system gives none.
bool StartSender(Recorder* recorder);

}  // namespace ddbg::shim
