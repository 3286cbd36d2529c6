// Runs one command as a shell would, and stands between it and the signals sent to us.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyzer/model/environment.h"

namespace ddbg::analyzer {

struct JobEnd {
  int exit_code = 0;        // the job's own; 128 + N if signal N ended it; 126, 127 if it could not be started
  std::string not_started;  // a sentence, if it could not be started
};

// The command keeps our terminal, standard streams and process group. While it runs, signals to this process are dealt
// with so that the job lives and ends as it would without us:
//   * SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGCONT that a process sent to us alone are passed on to
//   the
//     command; those from the terminal or to the whole process group are not, since it had them itself;
//   * SIGTSTP stops us with it.
// Calls on_tick every `tick_ms`, on this thread. Returns when the command has ended. Call from the main thread, with no
// others around; restores the signal mask.
JobEnd RunJob(const std::vector<std::string>& command, const Environment& environment, int tick_ms,
              const std::function<void()>& on_tick);

}  // namespace ddbg::analyzer
