// Healthy: root and others broadcast from different lines, as many programs do.
#include <mpi.h>
#include <stdio.h>

static void send_input(int* value) {
  *value = 17;
  MPI_Bcast(value, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static void get_input(int* value) { MPI_Bcast(value, 1, MPI_INT, 0, MPI_COMM_WORLD); }

int main(int argc, char** argv) {
  int rank = 0, value = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < 5; ++step) {
    if (rank == 0) {
      send_input(&value);
      MPI_Barrier(MPI_COMM_WORLD);
    } else {
      get_input(&value);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  printf("rank %d has %d\n", rank, value);
  MPI_Finalize();
  return 0;
}
