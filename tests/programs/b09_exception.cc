// Report B09 in C++: the root rank alone throws while it packs the initial state. The error is caught and printed in
// main, but on the way out MPI_Finalize waits for the others, which wait in the next barrier.
// --healthy: nothing is thrown.
#include <mpi.h>

#include <cstdio>
#include <stdexcept>

#include "arguments.h"

struct MpiSession {
  MpiSession(int* argc, char*** argv) { MPI_Init(argc, argv); }
  ~MpiSession() { MPI_Finalize(); }
};

static void pack_initial_state(bool healthy) {
  if (!healthy) throw std::runtime_error("cannot pack the initial state: no such species");
}

static int simulate(int* argc, char*** argv) {
  MpiSession session(argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) pack_initial_state(HasFlag(*argc, *argv, "--healthy"));
  MPI_Barrier(MPI_COMM_WORLD);  // mark: second barrier
  std::printf("rank %d done\n", rank);
  return 0;
}

int main(int argc, char** argv) {
  try {
    return simulate(&argc, &argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
