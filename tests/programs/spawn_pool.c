// A master that spawns two workers and gives each a task over the inter-communicator, takes a result from each, and ends
// them with another message. --lose RANK: that worker computes, but does not send its result.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { kTask = 1, kResult = 2, kEnd = 3, kWorkers = 2 };

static int option(int argc, char** argv, const char* name) {
  for (int i = 1; i + 1 < argc; ++i)
    if (strcmp(argv[i], name) == 0) return atoi(argv[i + 1]);
  return -1;
}

static void work(MPI_Comm master, int lose) {
  int rank, task, end;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Recv(&task, 1, MPI_INT, 0, kTask, master, MPI_STATUS_IGNORE);
  task *= 2;
  if (rank != lose) MPI_Send(&task, 1, MPI_INT, 0, kResult, master);
  MPI_Recv(&end, 1, MPI_INT, 0, kEnd, master, MPI_STATUS_IGNORE);
}

static void lead(MPI_Comm workers) {
  int results[kWorkers], tasks[kWorkers] = {20, 30};
  for (int i = 0; i < kWorkers; ++i) MPI_Send(&tasks[i], 1, MPI_INT, i, kTask, workers);
  for (int i = 0; i < kWorkers; ++i) MPI_Recv(&results[i], 1, MPI_INT, i, kResult, workers, MPI_STATUS_IGNORE);
  for (int i = 0; i < kWorkers; ++i) MPI_Send(&results[i], 1, MPI_INT, i, kEnd, workers);
}

int main(int argc, char** argv) {
  MPI_Comm parent, workers;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    work(parent, option(argc, argv, "--lose"));
    MPI_Comm_disconnect(&parent);
  } else {
    MPI_Comm_spawn(argv[0], argv + 1, kWorkers, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &workers, MPI_ERRCODES_IGNORE);
    lead(workers);
    MPI_Comm_disconnect(&workers);
  }
  MPI_Finalize();
  return 0;
}
