// Calls as fast as it can and, after each call has returned, appends one line of 32 bytes to its own file by one
// write(2): what a SIGKILL leaves there is what had returned. --log PREFIX: the files are PREFIX.<rank>.
// --block-rank R --block-after N: after N rounds rank R calls nothing more, so the others are inside a call.
// --pause-us N: sleeps so long after each round, so that a busy machine keeps up with recording.
// A line: number of the call on this rank from 0, its name, and for a collective its number on the world.
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#include "arguments.h"

static int log_file;
static long calls, collectives;

static void returned(const char* name, int collective) {
  char line[40];
  snprintf(line, sizeof line, "%8ld %-12s %9ld\n", calls++, name, collective ? collectives++ : -1L);
  if (write(log_file, line, 32) != 32) abort();
}

static void one_round(int rank, int size) {
  int right = (rank + 1) % size, left = (rank + size - 1) % size, in = 0, sum = 0;
  MPI_Request request;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  returned("Allreduce", 1);
  MPI_Irecv(&in, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &request);
  returned("Irecv", 0);
  MPI_Send(&rank, 1, MPI_INT, right, 3, MPI_COMM_WORLD);
  returned("Send", 0);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  returned("Wait", 0);
  MPI_Barrier(MPI_COMM_WORLD);
  returned("Barrier", 1);
}

int main(int argc, char** argv) {
  int rank = 0, size = 1;
  char path[4096];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  snprintf(path, sizeof path, "%s.%d", TextAfter(argc, argv, "--log", "stream"), rank);
  log_file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (log_file < 0) abort();
  int block_after =
      rank == NumberAfter(argc, argv, "--block-rank", -1) ? NumberAfter(argc, argv, "--block-after", 100) : -1;
  int pause_us = NumberAfter(argc, argv, "--pause-us", 0);
  for (int round = 0; round < 10000000; ++round) {
    while (round == block_after) pause();
    if (pause_us) usleep((useconds_t)pause_us);
    one_round(rank, size);
  }
  MPI_Finalize();
  return 0;
}
