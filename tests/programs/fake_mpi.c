// Some calls over the double of an MPI library (tests/fakes/mpi).
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Comm copy;
  MPI_Datatype pair;
  MPI_Request request;
  MPI_Status status;
  int rank = 0, data[16] = {0}, level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(data, data, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, data, 2, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce_c(data, data, (MPI_Count)5000000000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_set_name(copy, "copy");
  MPI_Barrier(copy);
  MPI_Send(data, 4, MPI_INT, rank, 7, copy);
  MPI_Recv(data, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, MPI_STATUS_IGNORE);
  MPI_Irecv(data, 2, MPI_DOUBLE, MPI_ANY_SOURCE, 8, copy, &request);
  MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
  MPI_Type_commit(&pair);
  MPI_Send(data, 1, pair, rank, 8, copy);
  MPI_Wait(&request, &status);
  MPI_Send(data, 1, MPI_INT, MPI_PROC_NULL, 9, copy);
  MPI_Type_free(&pair);
  MPI_Comm_free(&copy);
  MPI_Finalize();
  return status.MPI_TAG == 8 ? 0 : 1;
}
