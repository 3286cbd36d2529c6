// Healthy: three threads a rank in MPI at once, each on a communicator of its own.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { kThreads = 3, kRounds = 50 };

static void* work(void* argument) {
  MPI_Comm comm = *(MPI_Comm*)argument;
  int rank = 0, size = 1, in = 0, sum = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, round, &in, 1, MPI_INT, (rank + size - 1) % size, round, comm,
                 MPI_STATUS_IGNORE);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int level = 0, rank = 0;
  MPI_Comm comm[kThreads];
  pthread_t thread[kThreads];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (level < MPI_THREAD_MULTIPLE) return 77;
  for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
  for (int i = 0; i < kThreads; ++i) pthread_create(&thread[i], NULL, work, &comm[i]);
  for (int i = 0; i < kThreads; ++i) pthread_join(thread[i], NULL);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&comm[i]);
  printf("rank %d: %d threads done\n", rank, kThreads);
  MPI_Finalize();
  return 0;
}
