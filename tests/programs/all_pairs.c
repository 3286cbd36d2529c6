// Each rank exchanges messages with each other one, all at once as in a tournament, a round; an even number of ranks.
//   --rounds N --doubles N --work-us N: how often, how much, and how long each computes a round
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "arguments.h"

static void exchange(const double* mine, double* theirs, int count, int peer) {
  MPI_Sendrecv(mine, count, MPI_DOUBLE, peer, 7, theirs, count, MPI_DOUBLE, peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// In stage `stage` of a tournament (the circle method: the last one stays where it is).
static int peer_of(int rank, int stage, int size) {
  int others = size - 1;
  if (rank == others) return stage * (size / 2) % others;
  int peer = ((stage - rank) % others + others) % others;
  return peer == rank ? others : peer;
}

int main(int argc, char** argv) {
  int rank = 0, size = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int rounds = NumberAfter(argc, argv, "--rounds", 100), count = NumberAfter(argc, argv, "--doubles", 16);
  double* mine = calloc(count, sizeof *mine);
  double* theirs = calloc(count, sizeof *theirs);
  mine[0] = rank;
  double sum = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int stage = 0; stage + 1 < size; ++stage) {
      exchange(mine, theirs, count, peer_of(rank, stage, size));
      sum += theirs[0];
    }
    usleep(NumberAfter(argc, argv, "--work-us", 2000));
  }
  if (rank == 0) printf("%g\n", sum);
  MPI_Finalize();
  return 0;
}
