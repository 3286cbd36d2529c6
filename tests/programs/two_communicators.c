// A message and its receive on two communicators of the same processes: rank 0 sends on the row, and rank 1 waits for it
// on MPI_COMM_WORLD. --healthy: both on the row.
#include <mpi.h>
#include <stdio.h>

#include "arguments.h"

static void send_halo(MPI_Comm comm) {
  int halo[4] = {1, 2, 3, 4};
  MPI_Send(halo, 4, MPI_INT, 1, 7, comm);  // mark: send
}

static int receive_halo(MPI_Comm comm) {
  int halo[4] = {0};
  MPI_Recv(halo, 4, MPI_INT, 0, 7, comm, MPI_STATUS_IGNORE);  // mark: receive
  return halo[3];
}

int main(int argc, char** argv) {
  int rank = 0, size = 1, value = 0;
  MPI_Comm row;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
  MPI_Comm_set_name(row, "row");
  if (rank == 0) send_halo(row);
  if (rank == 1) value = receive_halo(HasFlag(argc, argv, "--healthy") ? row : MPI_COMM_WORLD);
  printf("rank %d has %d\n", rank, value);
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_free(&row);
  MPI_Finalize();
  return 0;
}
