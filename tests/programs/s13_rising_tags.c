// Report S13: the tag rises by one a round and passes what the MPI allows. --from-bound: it begins two below that,
// --first N: there; --rounds N. --healthy: it starts again at 0 each thousand rounds.
#include <mpi.h>
#include <stdio.h>

#include "arguments.h"

static void exchange(int tag, int peer) {
  int out = tag, in = -1;
  MPI_Sendrecv(&out, 1, MPI_INT, peer, tag, &in, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // mark: exchange
}

int main(int argc, char** argv) {
  int rank = 0, found = 0, *bound = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
  int first = HasFlag(argc, argv, "--from-bound") ? *bound - 2 : NumberAfter(argc, argv, "--first", 0);
  int rounds = NumberAfter(argc, argv, "--rounds", 3);
  for (int i = 0; i < rounds; ++i) exchange(HasFlag(argc, argv, "--healthy") ? i % 1000 : first + i, 1 - rank);
  if (rank == 0) printf("bound %d\n", *bound);
  MPI_Finalize();
  return 0;
}
