// A plug-in that runs MPI from its beginning to its end. For load_unload.c; compiled with -shared -fPIC.
#include <mpi.h>
#include <stdio.h>

void run(int round) {
  int initialized = -1, in = round, out = 0;
  MPI_Comm copy;
  MPI_Initialized(&initialized);
  MPI_Init(NULL, NULL);
  MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (int i = 0; i < 10; ++i) MPI_Barrier(copy);
  MPI_Comm_free(&copy);
  MPI_Finalize();
  printf("round %d: initialized before %d, sum %d\n", round, initialized, out);
}
