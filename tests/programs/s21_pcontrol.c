// Report S21: MPI_Pcontrol(0), five allreduces, MPI_Pcontrol(1), five more. --forgets: rank 1 leaves the first one out.
// --early: before MPI_Init, too.
#include <mpi.h>

#include "arguments.h"

int main(int argc, char** argv) {
  int rank = 0, sum = 0;
  if (HasFlag(argc, argv, "--early")) MPI_Pcontrol(1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 1 || !HasFlag(argc, argv, "--forgets")) MPI_Pcontrol(0);
  for (int i = 0; i < 5; ++i) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Pcontrol(1);
  for (int i = 0; i < 5; ++i) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
