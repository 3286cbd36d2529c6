// Collectives that MPI refuses on one rank for their arguments, made once more as they should be. --left-out: not all are.
#include <mpi.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Comm half, copy;
  int rank = 0, value = 1, sum = 0, refused = 0;
  int left_out = argc > 1 && strcmp(argv[1], "--left-out") == 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 1) {
    refused += MPI_Bcast(&value, 1, MPI_INT, 99, MPI_COMM_WORLD) != MPI_SUCCESS;  // mark: refused
    refused += MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_OP_NULL, 0, MPI_COMM_WORLD) != MPI_SUCCESS;
    refused += MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &half) != MPI_SUCCESS;
  }
  if (rank != 1 || !left_out) MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 1 && left_out) MPI_Recv(&value, 1, MPI_INT, 2, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  MPI_Comm_dup(half, &copy);
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, copy);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&half);
  MPI_Finalize();
  return rank == 1 && refused != 3;
}
