// What processes do in their lives, one each: `life WHAT`. Each prints the same and ends the same with and without a
// library preloaded. A process alone is an MPI job of one rank.
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

extern char** environ;

namespace {

int Sum() {
  int in = 1, out = 0;
  MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return out;
}

int Probe() {
  int flag;
  MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  return flag;
}

// Waits for the child and says how it ended.
void Report(const char* what, pid_t pid) {
  int status = -1;
  if (pid <= 0 || waitpid(pid, &status, 0) != pid) {
    printf("%s: no child\n", what);
  } else if (WIFSIGNALED(status)) {
    printf("%s: signal %d\n", what, WTERMSIG(status));
  } else {
    printf("%s: status %d\n", what, WEXITSTATUS(status));
  }
  fflush(stdout);
}

void Fork() {
  fflush(stdout);
  for (int how = 0; how < 3; ++how) {
    pid_t pid = fork();
    if (pid == 0) {
      int initialized;
      MPI_Initialized(&initialized);
      if (how == 0) _exit(10 + initialized);
      if (how == 1) exit(20 + initialized);
      abort();
    }
    Report("fork", pid);
  }
  printf("sum %d\n", Sum());
}

void Exec() {
  fflush(stdout);
  char* shell[] = {strdup("sh"), strdup("-c"), strdup("echo from the shell; exit 3"), nullptr};
  pid_t pid = fork();
  if (pid == 0) execv("/bin/sh", shell), _exit(127);
  Report("fork and exec", pid);
  pid = vfork();
  if (pid == 0) execv("/bin/sh", shell), _exit(127);
  Report("vfork and exec", pid);
  if (posix_spawn(&pid, "/bin/sh", nullptr, nullptr, shell, environ) != 0) pid = -1;
  Report("posix_spawn", pid);
  printf("system: %d\n", WEXITSTATUS(system("exit 4")));
  fflush(stdout);
  FILE* pipe = popen("echo popen", "r");
  char line[64] = "";
  if (!pipe || !fgets(line, sizeof(line), pipe)) strcpy(line, "nothing\n");
  printf("popen: %s", line);
  pclose(pipe);
  printf("sum %d\n", Sum());
}

void Daemonize() {
  fflush(stdout);
  int ready[2];
  if (pipe(ready) != 0) return;
  pid_t pid = fork();
  if (pid == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    for (int fd = 3; fd < 1024; ++fd) {
      if (fd != ready[1]) close(fd);
    }
    if (write(ready[1], "daemon\n", 7) != 7) _exit(1);
    _exit(0);
  }
  close(ready[1]);
  char line[16] = "";
  if (read(ready[0], line, sizeof(line) - 1) < 0) return;
  printf("%s", line);
  Report("daemon's parent", pid);
  printf("sum %d\n", Sum());
}

void CloseAll() {
  for (int fd = 3; fd < 1024; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0 && fd >= 400) close(fd);
  }
  int sum = 0;
  for (int i = 0; i < 1000; ++i) sum += Sum();
  printf("sum %d\n", sum);
}

void Threads() {
  std::atomic<int> calls{0};
  for (int round = 0; round < 100; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 20; ++i) threads.emplace_back([&] { calls += 1 + Probe(); });
    for (std::thread& thread : threads) thread.join();
  }
  printf("calls %d\n", calls.load());
}

volatile sig_atomic_t g_alarms = 0;
void OnAlarm(int) {
  Probe();  // not allowed by MPI, and done all the same
  g_alarms = g_alarms + 1;
}

void Handler() {
  struct sigaction action = {};
  action.sa_handler = OnAlarm;
  sigaction(SIGALRM, &action, nullptr);
  itimerval often = {{0, 500}, {0, 500}};
  setitimer(ITIMER_REAL, &often, nullptr);
  double in = 1, out = 0, sum = 0;
  while (g_alarms < 200) {
    MPI_Reduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_SELF);
    sum += out - 1;
  }
  itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  printf("sum %.0f\n", sum);
}

jmp_buf g_place;
void Jump(void*, void*, int*, MPI_Datatype*) { longjmp(g_place, 1); }
void Throw(void*, void*, int*, MPI_Datatype*) { throw std::runtime_error("from a reduction"); }
void OnError(MPI_Comm*, int*, ...) { longjmp(g_place, 1); }

// Out of an MPI call by an error handler: what MPI itself was doing is over by then.
void Longjmp() {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(OnError, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  for (volatile int i = 0; i < 100; i = i + 1) {
    if (setjmp(g_place) == 0) {
      MPI_Send(nullptr, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);  // there is no rank 99
      puts("came back");
    }
  }
  printf("sum %d\n", Sum());
}

void Exception() {
  MPI_Op op;
  MPI_Op_create(Throw, 1, &op);
  int caught = 0;
  for (int i = 0; i < 100; ++i) {
    int in = 1, out = 2;
    try {
      MPI_Reduce_local(&in, &out, 1, MPI_INT, op);
    } catch (const std::runtime_error&) {
      ++caught;
    }
    try {
      throw std::runtime_error("with a wrapper on the stack before");
    } catch (const std::runtime_error&) {
      Sum();
    }
  }
  printf("caught %d, sum %d\n", caught, Sum());
}

// The library after MPI is gone, from the destructors of the program.
void AtExit() {
  int finalized;
  MPI_Finalized(&finalized);
  printf("at exit: finalized %d\n", finalized);
}
struct Static {
  ~Static() {
    int finalized = 0;
    if (armed) MPI_Finalized(&finalized), printf("destructor: finalized %d\n", finalized);
  }
  bool armed = false;
} g_static;

[[gnu::constructor]] void Early() {
  int initialized = 1;
  if (getenv("LIFE_EARLY")) MPI_Initialized(&initialized), printf("constructor: initialized %d\n", initialized);
}

// rlimits and signals that the program set are its own.
void Limits() {
  rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  int count = 0, handled = 0;
  for (int i = 1; i < 32; ++i) {
    struct sigaction action;
    sigaction(i, nullptr, &action);
    handled += action.sa_handler != SIG_DFL;
    count += sigismember(&blocked, i);
  }
  char* text = strdup(getenv("LD_LIBRARY_PATH") ? getenv("LD_LIBRARY_PATH") : "none");
  printf("files %ld, blocked %d, handled %d, umask %o, path %s, sum %d\n", static_cast<long>(files.rlim_cur), count,
         handled, umask(022), text, Sum());
}

struct Life {
  const char* name;
  void (*live)();
  int end;  // 0: MPI_Finalize and exit 0; else see main
} const kLives[] = {
    {"fork", Fork, 0},           {"exec", Exec, 0},        {"daemonize", Daemonize, 0}, {"close_all", CloseAll, 0},
    {"threads", Threads, 0},     {"handler", Handler, 0},  {"longjmp", Longjmp, 0},     {"exception", Exception, 0},
    {"limits", Limits, 0},       {"exit", nullptr, 1},     {"quick_exit", nullptr, 2},  {"_exit", nullptr, 3},
    {"abort", nullptr, 4},       {"segv", nullptr, 5},     {"return", nullptr, 6},      {"at_exit", nullptr, 7},
    {"thread_exit", nullptr, 8}, {"uncaught", nullptr, 9}, {"exec_self", nullptr, 10},
};

int End(int how) {
  fflush(stdout);
  switch (how) {
    case 1: exit(11);
    case 2: quick_exit(12);
    case 3: _exit(13);
    case 4: abort();
    case 5: raise(SIGSEGV); return 1;
    case 6: return 16;
    case 7:
      atexit(AtExit);
      g_static.armed = true;
      break;
    case 8: {
      std::thread([] {
        Probe();
        fflush(stdout);
        exit(18);
      }).join();
      return 1;
    }
    case 9: throw std::runtime_error("nobody catches this");
    case 10: execl("/bin/sh", "sh", "-c", "echo replaced; exit 19", nullptr); return 1;
    default: break;
  }
  MPI_Finalize();
  puts("finalized");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  for (const Life& life : kLives) {
    if (argc < 2 || strcmp(argv[1], life.name) != 0) continue;
    // MPICH holds a lock for all threads in a call, which a handler or a longjmp would find taken.
    bool leaves_calls = life.live == Handler || life.live == Longjmp;
    int level;
    MPI_Init_thread(&argc, &argv, leaves_calls ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
    printf("%s %d\n", life.name, Sum());
    if (life.live) life.live();
    return End(life.end);
  }
  return 2;
}
