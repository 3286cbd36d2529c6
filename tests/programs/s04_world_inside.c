// Report S04: a library that is given the communicator of ranks 0 and 1 meets on MPI_COMM_WORLD inside; ranks 2 and 3 never
// call it. --healthy: it meets on what it was given.
#include <mpi.h>
#include <stdio.h>

#include "arguments.h"

static void decompose(MPI_Comm comm, int healthy) {
  int sum = 0, one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  MPI_Barrier(healthy ? comm : MPI_COMM_WORLD);  // mark: barrier
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Comm half;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
  if (rank < 2) decompose(half, HasFlag(argc, argv, "--healthy"));
  MPI_Comm_free(&half);
  MPI_Finalize();  // mark: finalize
  return 0;
}
