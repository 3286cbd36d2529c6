// Healthy: MPI_Gatherv over an inter-communicator. Its root is rank 1 of the odd ranks' side; rank 1 of the other side gives
// arrays that mean nothing there and cannot be read.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank = 0, own = 0;
  MPI_Comm side, both;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &side);
  MPI_Comm_rank(side, &own);
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 5, &both);
  int all[2] = {-1, -1}, counts[2] = {1, 1}, displacements[2] = {0, 1}, *nowhere = (int*)8;
  if (rank % 2 == 0)
    MPI_Gatherv(&rank, 1, MPI_INT, NULL, nowhere, nowhere, MPI_INT, 1, both);
  else
    MPI_Gatherv(NULL, 0, MPI_INT, all, counts, displacements, MPI_INT, own == 1 ? MPI_ROOT : MPI_PROC_NULL, both);
  if (rank == 3) printf("%d %d\n", all[0], all[1]);
  MPI_Comm_free(&both);
  MPI_Comm_free(&side);
  MPI_Finalize();
  return 0;
}
