#include "collector/daemonize.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>

namespace ddbg::collector {
namespace {

void CloseAllAboveStandard() {
  if (syscall(SYS_close_range, 3u, ~0u, 0u) == 0) return;
  for (int fd = 3, last = static_cast<int>(sysconf(_SC_OPEN_MAX)); fd < last; ++fd) close(fd);  // before Linux 5.9
}

// The limits are those of the job whose process started this one; it serves others too.
void RaiseLimits() {
  for (int kind : {RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CPU}) {
    rlimit limit;
    if (getrlimit(kind, &limit) != 0) continue;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(kind, &limit);
  }
}

}  // namespace

void ShedInheritance(bool close_rest) {
  int fd;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= 2);
  if (fd > 2) close(fd);
  if (close_rest) CloseAllAboveStandard();

  for (int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD}) signal(number, SIG_DFL);
  signal(SIGPIPE, SIG_IGN);
  sigset_t late;
  sigemptyset(&late);
  sigaddset(&late, SIGTERM);
  sigaddset(&late, SIGINT);
  sigprocmask(SIG_SETMASK, &late, nullptr);

  RaiseLimits();
  unsetenv("LD_PRELOAD");
  umask(022);
}

bool Daemonize() {
  pid_t child = fork();
  if (child < 0) return false;
  if (child > 0) _exit(0);
  setsid();
  child = fork();  // not a session leader any more, so it can never get a terminal
  if (child < 0) _exit(1);
  if (child > 0) _exit(0);
  signal(SIGHUP, SIG_IGN);
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; ++fd) dup2(null, fd);
  if (null > 2) close(null);
  return chdir("/") == 0;
}

}  // namespace ddbg::collector
