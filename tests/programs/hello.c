// Says who it is and adds up the ranks. --code N: the exit code. --kill: ends by SIGKILL instead, after MPI_Finalize.
// Run with the launcher of another MPI, each process says "rank 0 of 1" (report B35).
#include <mpi.h>
#include <signal.h>
#include <stdio.h>

#include "arguments.h"

int main(int argc, char** argv) {
  int rank = 0, size = 1, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d, sum %d\n", rank, size, sum);
  fflush(stdout);
  MPI_Finalize();
  if (HasFlag(argc, argv, "--kill")) raise(SIGKILL);
  return NumberAfter(argc, argv, "--code", 0);
}
