// Preloaded: CLOCK_REALTIME is ahead by as many seconds as the file $SHIFT_FILE says, read at each call.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec* now) {
  long result = syscall(SYS_clock_gettime, clock, now);
  const char* path = getenv("SHIFT_FILE");
  if (clock != CLOCK_REALTIME || !path) return (int)result;
  char text[32] = {0};
  int file = open(path, O_RDONLY);
  if (file >= 0 && read(file, text, sizeof(text) - 1) > 0) now->tv_sec += atol(text);
  if (file >= 0) close(file);
  return (int)result;
}
