// Point-to-point calls without a partner. --fault says which:
//   send  rank 0 sends a small message that nobody receives: it is buffered and the program ends as if all were well
//   recv  rank 1 receives with tag 8 what rank 0 sends with tag 7: rank 1 hangs
// Without --fault every message is received.
#include <mpi.h>
#include <stdio.h>

#include "arguments.h"

static void send_result(int value) {
  MPI_Request request;
  MPI_Isend(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);  // mark: send
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int receive_result(int tag) {
  int value = 0;
  MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // mark: recv
  return value;
}

int main(int argc, char** argv) {
  int rank = 0, value = 0;
  const char* fault = TextAfter(argc, argv, "--fault", "");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) send_result(42);
  if (rank == 1 && strcmp(fault, "send") != 0) value = receive_result(strcmp(fault, "recv") == 0 ? 8 : 7);
  printf("rank %d has %d\n", rank, value);
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
