// An uncaught exception on rank 1, and a handler of std::terminate that takes the whole job down, as many codes have.
// --healthy: nothing is thrown.
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <stdexcept>

#include "arguments.h"

static void abort_all() {
  std::fprintf(stderr, "uncaught exception\n");
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void read_species(bool healthy) {
  if (!healthy) throw std::runtime_error("no such species");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::set_terminate(abort_all);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) read_species(HasFlag(argc, argv, "--healthy"));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
