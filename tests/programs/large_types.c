// Healthy: a datatype with a count beyond an int, where MPI 4 has such, sent and received by itself and inside of
// another one.
#include <mpi.h>
#include <stdio.h>

static char in[8], out[8] = "letters";

static void exchange(MPI_Datatype type, int count) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Sendrecv(out, count, type, (rank + 1) % size, 3, in, count, type, (rank + size - 1) % size, 3, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Datatype small, large, holds_large;
  MPI_Init(&argc, &argv);
  MPI_Type_contiguous(4, MPI_CHAR, &small);
  MPI_Type_commit(&small);
  exchange(small, 1);
#if MPI_VERSION >= 4
  MPI_Type_contiguous_c((MPI_Count)1 << 33, small, &large);
  MPI_Type_commit(&large);
  exchange(large, 0);
  MPI_Type_contiguous(2, large, &holds_large);
  MPI_Type_commit(&holds_large);
  exchange(holds_large, 0);
  MPI_Type_free(&holds_large);
  MPI_Type_free(&large);
#endif
  MPI_Type_free(&small);
  exchange(MPI_CHAR, 7);
  printf("%.4s %s\n", in, in);
  MPI_Finalize();
  return 0;
}
