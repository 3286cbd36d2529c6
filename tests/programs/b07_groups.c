// Report B07 with MPI: ranks 0 and 1 make the group {0,1,2} first and {0,1,3} second, as all should; ranks 2 and 3 are in one
// each, and rank 1 makes them in the other order. --healthy: one order on all.
#include <mpi.h>

#include "arguments.h"

static MPI_Comm make(MPI_Group world, int third) {
  int ranks[3] = {0, 1, third};
  MPI_Group group;
  MPI_Comm comm;
  MPI_Group_incl(world, 3, ranks, &group);
  MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, &comm);  // mark: create
  MPI_Group_free(&group);
  return comm;
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Group world;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int swapped = rank == 1 && !HasFlag(argc, argv, "--healthy");
  MPI_Comm first = MPI_COMM_NULL, second = MPI_COMM_NULL;
  if (rank != 3) first = make(world, swapped ? 3 : 2);
  if (rank != 2) second = make(world, swapped ? 2 : 3);
  if (first != MPI_COMM_NULL) MPI_Comm_free(&first);
  if (second != MPI_COMM_NULL) MPI_Comm_free(&second);
  MPI_Group_free(&world);
  MPI_Finalize();
  return 0;
}
