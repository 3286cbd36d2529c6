// Report B12: everybody sends to the right before anybody receives from the left. Small messages are buffered, so it
// works; large ones are not, and all ranks wait in MPI_Send. --count N: ints in a message.
// --healthy: MPI_Sendrecv, which is correct at any size.
#include <mpi.h>
#include <stdio.h>

#include "arguments.h"

static void exchange(const int* out, int* in, int count, int right, int left) {
  MPI_Send(out, count, MPI_INT, right, 7, MPI_COMM_WORLD);  // mark: send
  MPI_Recv(in, count, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchange_correctly(const int* out, int* in, int count, int right, int left) {
  MPI_Sendrecv(out, count, MPI_INT, right, 7, in, count, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int rank = 0, size = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int count = NumberAfter(argc, argv, "--count", 40000);
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int* out = calloc(count, sizeof *out);
  int* in = calloc(count, sizeof *in);
  out[count - 1] = rank;
  if (HasFlag(argc, argv, "--healthy")) {
    exchange_correctly(out, in, count, right, left);
  } else {
    exchange(out, in, count, right, left);
  }
  printf("rank %d has %d from its left neighbour\n", rank, in[count - 1]);
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
