// Report B26: a solver splits the world in each call and never frees the result. --iterations N: calls of the solver.
// --healthy: it frees.
#include <mpi.h>
#include <stdio.h>

#include "arguments.h"

static double solve(int rank, int healthy) {
  MPI_Comm row;
  double one = 1, sum = 0;
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &row);  // mark: split
  MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, row);
  if (healthy) MPI_Comm_free(&row);
  return sum;
}

int main(int argc, char** argv) {
  int rank = 0;
  double total = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int iterations = NumberAfter(argc, argv, "--iterations", 80000);
  for (int i = 0; i < iterations; ++i) total += solve(rank, HasFlag(argc, argv, "--healthy"));
  printf("rank %d solved %g\n", rank, total);
  MPI_Finalize();
  return 0;
}
