// Preloaded: bends the clocks of a process, by the name of the host that it is on.
//   SKEWED_CLOCKS="node1:0:0:0 node2:45000000000:60000:-3000000000"
// For each host: ns by which CLOCK_MONOTONIC is ahead, how much faster it goes (1e-9) since SKEWED_SINCE_NS of the real
// one, and ns by which the time of day is ahead. Only what ddbg reads is bent: the kernel waits by its own clock, and a
// library that gave it times of another would wait for ever. With SKEWED_NAMESPACE=hidden ddbg does not learn of the
// time namespace it is in, as if the shift were the machine's own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uintptr_t first, last;  // addresses of libddbg.so, or of the collector
static int (*real_clock_gettime)(clockid_t, struct timespec*);
static long long ahead_ns, rate, wall_ns, since_ns;

static int find_ddbg(struct dl_phdr_info* info, size_t size, void* is_collector) {
  (void)size;
  const char* slash = strrchr(info->dlpi_name, '/');
  int found = *(int*)is_collector ? info->dlpi_name[0] == 0 : slash && strcmp(slash, "/libddbg.so") == 0;
  for (int i = 0; found && i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    first = info->dlpi_addr + part->p_vaddr, last = first + part->p_memsz;
  }
  return found;
}

static void set_up(void) {
  static int done;
  if (__atomic_load_n(&done, __ATOMIC_ACQUIRE)) return;
  char host[128] = "";
  gethostname(host, sizeof host - 1);
  const char* all = getenv("SKEWED_CLOCKS");
  const char* since = getenv("SKEWED_SINCE_NS");
  size_t length = strlen(host);
  for (const char* word = all; word && *word; word = strchr(word, ' ') ? strchr(word, ' ') + 1 : NULL)
    if (strncmp(word, host, length) == 0 && word[length] == ':')
      sscanf(word + length, ":%lld:%lld:%lld", &ahead_ns, &rate, &wall_ns);
  int is_collector = strcmp(program_invocation_short_name, "ddbg-collector") == 0;
  dl_iterate_phdr(find_ddbg, &is_collector);
  since_ns = since ? atoll(since) : 0;
  real_clock_gettime = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  set_up();
  int result = real_clock_gettime(clock, time);
  uintptr_t caller = (uintptr_t)__builtin_return_address(0);
  if (result != 0 || caller < first || caller >= last) return result;
  long long ns = time->tv_sec * 1000000000LL + time->tv_nsec;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
    ns += wall_ns;
  } else if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_MONOTONIC_RAW ||
             clock == CLOCK_BOOTTIME) {
    ns += ahead_ns + (long long)((double)(ns - since_ns) * (double)rate * 1e-9);
  } else {
    return 0;
  }
  time->tv_sec = ns / 1000000000, time->tv_nsec = ns % 1000000000;
  return 0;
}

int open(const char* path, int flags, ...) {
  const char* namespace = getenv("SKEWED_NAMESPACE");
  if (namespace && strcmp(namespace, "hidden") == 0 && strstr(path, "/timens_offsets")) {
    errno = ENOENT;
    return -1;
  }
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return ((int (*)(const char*, int, mode_t))dlsym(RTLD_NEXT, "open"))(path, flags, mode);
}
