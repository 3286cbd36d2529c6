// Report B14: each rank compares its own clock with the time limit. Rank 2's clock began 30 ms later, so that it does one
// step more than the others, who write a restart file by then. A step is 50 ms of that clock.
// --healthy: rank 0 decides, and tells the others.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#include "arguments.h"

static const double kLimit = 1.035, kStep = 0.05;

static void do_step(double* residual) {
  double own = *residual;
  usleep(2000);
  MPI_Allreduce(&own, residual, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);  // mark: step
}

static void write_restart(double residual) {
  double all[64];
  MPI_Gather(&residual, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);  // mark: restart
}

int main(int argc, char** argv) {
  int rank = 0, steps = 0, healthy = HasFlag(argc, argv, "--healthy");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double elapsed = rank == 2 ? -0.03 : 0, residual = 1;
  int go_on = 1;
  while (go_on) {
    do_step(&residual);
    ++steps;
    elapsed += kStep;
    go_on = elapsed < kLimit;
    if (healthy) MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  write_restart(residual);
  printf("rank %d did %d steps\n", rank, steps);
  MPI_Finalize();
  return 0;
}
