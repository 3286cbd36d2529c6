// Report B19: rank 1 broadcasts with another count than all others. --count N and --wrong N: the two counts.
// --healthy: rank 1 passes what the others pass.
#include <mpi.h>
#include <stdio.h>

#include "arguments.h"

static void share_table(int* table, int count) {
  MPI_Bcast(table, count, MPI_INT, 0, MPI_COMM_WORLD);  // mark: broadcast
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int count = NumberAfter(argc, argv, "--count", 1088);
  if (rank == 1 && !HasFlag(argc, argv, "--healthy")) count = NumberAfter(argc, argv, "--wrong", 1142);
  int* table = calloc(count, sizeof *table);
  share_table(table, count);
  printf("rank %d has its table\n", rank);
  free(table);
  MPI_Finalize();
  return 0;
}
