// Messages between all pairs of ranks and an allreduce a round, with what the machine's clock truly showed around each
// call, as the kernel has it: whatever a time namespace or a preloaded library tells others.
//   --rounds N --pause-us N --times FOLDER: rank R writes FOLDER/R, two int64 a call, ns of CLOCK_MONOTONIC before and
//   after
#include <inttypes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arguments.h"

static FILE* times;
static int64_t ahead_ns;  // of the time namespace that this process is in

static int64_t now(void) {
  struct timespec t;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec - ahead_ns;
}

static void read_offset(void) {
  FILE* file = fopen("/proc/self/timens_offsets", "r");
  char clock[32];
  long long seconds, ns;
  while (file && fscanf(file, "%31s %lld %lld", clock, &seconds, &ns) == 3)
    if (strcmp(clock, "monotonic") == 0) ahead_ns = seconds * INT64_C(1000000000) + ns;
  if (file) fclose(file);
}

static void keep(int64_t before) {
  int64_t both[2] = {before, now()};
  fwrite(both, sizeof both, 1, times);
}

static void message(int rank, int from, int to) {
  double value = from;
  int64_t before = now();
  if (rank == from) MPI_Send(&value, 1, MPI_DOUBLE, to, 1, MPI_COMM_WORLD);
  if (rank == to) MPI_Recv(&value, 1, MPI_DOUBLE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == from || rank == to) keep(before);
}

static void sum(double mine) {
  double all = 0;
  int64_t before = now();
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  keep(before);
}

int main(int argc, char** argv) {
  int rank = 0, size = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  read_offset();
  char path[4096];
  snprintf(path, sizeof path, "%s/%d", TextAfter(argc, argv, "--times", "."), rank);
  times = fopen(path, "w");
  if (!times) MPI_Abort(MPI_COMM_WORLD, 2);
  int rounds = NumberAfter(argc, argv, "--rounds", 1000), pause_us = NumberAfter(argc, argv, "--pause-us", 1000);
  for (int round = 0; round < rounds; ++round) {
    for (int one = 0; one < size; ++one) {
      for (int two = one + 1; two < size; ++two) {
        message(rank, one, two);
        message(rank, two, one);
      }
    }
    sum(rank);
    if (pause_us > 0) usleep(pause_us);
  }
  fclose(times);
  MPI_Finalize();
  return 0;
}
