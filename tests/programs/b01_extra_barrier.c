// Report B01: a save routine that ends in a barrier is called on rank 0 alone. Its barrier pairs with the next,
// unrelated barrier of the others, so rank 0's own "final" barrier has no partner and rank 0 hangs.
// --healthy: every rank saves.
#include <mpi.h>
#include <stdio.h>

#include "arguments.h"

static void average_gradients(double* value) {
  double sum = 0;
  MPI_Allreduce(value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  *value = sum;
}

static void save(void) {
  MPI_Barrier(MPI_COMM_WORLD);  // mark: save
}

static void final_barrier(void) {
  MPI_Barrier(MPI_COMM_WORLD);  // mark: final
}

int main(int argc, char** argv) {
  int rank = 0;
  double value = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < 3; ++step) average_gradients(&value);
  if (rank == 0 || HasFlag(argc, argv, "--healthy")) save();
  final_barrier();
  printf("rank %d passed the final barrier with %g\n", rank, value);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
