// Report B24: each of two ranks sends --count N ints to the other, overwrites the buffer at once and waits for what it
// receives only. Small messages are buffered, so that it shows with large ones alone. --healthy: it waits for both.
#include <mpi.h>
#include <stdio.h>

#include "arguments.h"

enum { kSteps = 20 };

static void fill(int* values, int count, int value) {
  for (int i = 0; i < count; ++i) values[i] = value;
}

int main(int argc, char** argv) {
  int rank = 0, bad = 0, healthy = HasFlag(argc, argv, "--healthy");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int count = NumberAfter(argc, argv, "--count", 200000);
  int* halo = calloc(count, sizeof *halo);
  int* ghost = calloc(count, sizeof *ghost);
  for (int step = 0; step < kSteps; ++step) {
    MPI_Request receive, send;
    fill(halo, count, 100 * step + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Irecv(ghost, count, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &receive);
    MPI_Isend(halo, count, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &send);  // mark: isend
    if (healthy) MPI_Wait(&send, MPI_STATUS_IGNORE);
    fill(halo, count, -1);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    bad += ghost[count - 1] != 100 * step + 1 - rank;
  }
  printf("rank %d: %d steps with wrong values\n", rank, bad);
  MPI_Finalize();
  free(halo);
  free(ghost);
  return 0;
}
