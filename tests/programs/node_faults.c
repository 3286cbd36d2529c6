// A job of steps, work on a CPU and an allreduce each, of which one rank meets a fault of its node.
//   --steps N --work-ms W    W ms of CPU time a step, whatever wall time that takes
//   --rank R                 whom the rest is for
//   --cgroup DIR             R joins this cgroup before MPI_Init
//   --cpu C                  R runs on this CPU only, the others on another one, if there is one
//   --grow-mb G              R touches G MiB more each step
//   --write FILE             R writes 64 KiB to it each step and waits until they are on the disk
//   --map FILE               R maps 8 MiB of it in step 1 and touches them
//   --sleep-ms S             R sleeps so long each step: work of its own that needs no CPU
//   --started FILE           each rank appends one byte to it when it has done five steps
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "arguments.h"

static double work(int milliseconds) {
  struct timespec used, begin;
  double sum = 0;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  do {
    for (int i = 1; i < 2000; ++i) sum += 1.0 / i;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  } while ((used.tv_sec - begin.tv_sec) * 1000L + (used.tv_nsec - begin.tv_nsec) / 1000000L < milliseconds);
  return sum;
}

static void append(const char* path, const char* text, size_t size, int sync) {
  int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (file < 0 || write(file, text, size) != (ssize_t)size) perror(path);
  if (sync) fsync(file);
  close(file);
}

static void join(const char* directory) {
  char path[4096], pid[32];
  snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
  snprintf(pid, sizeof(pid), "%d", (int)getpid());
  int file = open(path, O_WRONLY);
  if (file < 0 || write(file, pid, strlen(pid)) < 0) perror(path), exit(9);
  close(file);
}

static void bind_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) perror("sched_setaffinity");
}

static void map_and_touch(const char* path) {
  size_t size = 8 << 20;
  int file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, (off_t)size) != 0) perror(path), exit(9);
  char* bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  for (size_t i = 0; i < size; i += 4096) bytes[i] = 1;  // mark: touch
}

static void step(int number, int mine, int argc, char** argv) {
  static char block[64 << 10];
  work(NumberAfter(argc, argv, "--work-ms", 5));
  if (mine) {
    size_t grow = (size_t)NumberAfter(argc, argv, "--grow-mb", 0) << 20;
    for (volatile char *more = grow ? malloc(grow) : NULL, *end = more + grow; more && more < end; more += 4096) *more = 1;
    if (TextAfter(argc, argv, "--write", NULL)) append(TextAfter(argc, argv, "--write", NULL), block, sizeof(block), 1);
    if (number == 1 && TextAfter(argc, argv, "--map", NULL)) map_and_touch(TextAfter(argc, argv, "--map", NULL));
    usleep((useconds_t)NumberAfter(argc, argv, "--sleep-ms", 0) * 1000);
  }
  double value = 1, sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // mark: step
}

int main(int argc, char** argv) {
  const char* launched = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
  int chosen = NumberAfter(argc, argv, "--rank", -1), mine = launched && atoi(launched) == chosen;
  int cpu = NumberAfter(argc, argv, "--cpu", -1);
  if (mine && TextAfter(argc, argv, "--cgroup", NULL)) join(TextAfter(argc, argv, "--cgroup", NULL));
  if (cpu >= 0 && sysconf(_SC_NPROCESSORS_ONLN) > 1) bind_to(mine ? cpu : cpu == 0);
  MPI_Init(&argc, &argv);
  int steps = NumberAfter(argc, argv, "--steps", 100);
  const char* started = TextAfter(argc, argv, "--started", NULL);
  for (int i = 0; i < steps; ++i) {
    step(i, mine, argc, argv);
    if (i == 5 && started) append(started, ".", 1, 0);
  }
  MPI_Finalize();
  return 0;
}
