// Stops itself at once after its calls, before any of them can have been sent; goes on when it is let.
#include <mpi.h>
#include <signal.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 5; ++i) MPI_Barrier(MPI_COMM_WORLD);
  raise(SIGSTOP);
  for (int i = 0; i < 5; ++i) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
