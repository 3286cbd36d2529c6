// A process that makes MPI calls at a given rate for a given time, for bench.py: CALLS_PER_SECOND SECONDS. Prints how
// many it made. It is a job of its own, so that as many as one likes can run at once.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char** argv) {
  double rate = argc > 1 ? atof(argv[1]) : 1000, seconds = argc > 2 ? atof(argv[2]) : 1;
  MPI_Init(&argc, &argv);
  long calls = 0;
  double start = now_s(), end = start + seconds;
  for (double now = start; now < end; now = now_s()) {
    long due = (long)((now - start) * rate);
    double in = 1, out;
    for (; calls < due; ++calls) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    struct timespec pause = {0, 200000};
    nanosleep(&pause, NULL);
  }
  MPI_Finalize();
  printf("%ld\n", calls);
  return 0;
}
