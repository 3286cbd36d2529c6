// Makes many calls of several kinds for as long as it is told: --steps N, or --seconds N. Two ranks or more.
// --hang: rank 0 then calls a barrier that the others do not. --lost-message: rank 0 sends one that nobody receives.
// --step-us N: pause after each step.
#include <mpi.h>
#include <unistd.h>

#include "arguments.h"

int main(int argc, char** argv) {
  int rank = 0, size = 0;
  double value = 1, sum = 0;
  int out = 0, in = 0;
  MPI_Comm ring;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &ring);
  long steps = NumberAfter(argc, argv, "--steps", 1000);
  long pause_us = NumberAfter(argc, argv, "--step-us", 0);
  int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  if (rank == 0 && HasFlag(argc, argv, "--lost-message")) MPI_Send(&out, 1, MPI_INT, 1 % size, 99, ring);
  int seconds = NumberAfter(argc, argv, "--seconds", 0), over = 0;
  double begin = MPI_Wtime();
  for (long step = 0; seconds ? !over : step < steps; ++step) {
    MPI_Request requests[2];
    MPI_Irecv(&in, 1, MPI_INT, step % 3 == 0 ? MPI_ANY_SOURCE : previous, 1, ring, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, next, 1, ring, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(&out, 1, MPI_INT, next, 2, &in, 1, MPI_INT, previous, 2, ring, MPI_STATUS_IGNORE);
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, ring);
    over = MPI_Wtime() - begin > seconds;
    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (pause_us > 0) usleep((useconds_t)pause_us);
  }
  if (rank == 0 && HasFlag(argc, argv, "--hang")) MPI_Barrier(ring);
  MPI_Barrier(ring);
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return 0;
}
