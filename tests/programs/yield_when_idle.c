// Preloaded: a process that asks again and again whether something came lets others run in between. Of more ranks than
// processors each would otherwise wait for the end of the others' time slices. Open MPI has mpi_yield_when_idle for it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <sys/epoll.h>

int epoll_wait(int epoll, struct epoll_event* events, int most, int timeout_ms) {
  static int (*real)(int, struct epoll_event*, int, int);
  if (!real) real = (int (*)(int, struct epoll_event*, int, int))dlsym(RTLD_NEXT, "epoll_wait");
  int count = real(epoll, events, most, timeout_ms);
  if (count == 0 && timeout_ms == 0) sched_yield();
  return count;
}
