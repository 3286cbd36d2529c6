// Report B10: two threads of each rank reduce at once on MPI_COMM_WORLD. --sizes: one 64 doubles, the other 128.
// --healthy: each on a communicator of its own. --rounds N. Prints how many results were wrong, and exits 0.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "arguments.h"

struct Work {
  MPI_Comm comm;
  int thread, count, rounds, wrong;
};

static pthread_barrier_t both_are_here;

static void* work(void* argument) {
  struct Work* w = argument;
  double in[128], out[128];
  int size = 1;
  MPI_Comm_size(w->comm, &size);
  for (int i = 0; i < w->count; ++i) in[i] = w->thread + 1;
  pthread_barrier_wait(&both_are_here);
  for (int round = 0; round < w->rounds; ++round) {
    usleep(100);
    MPI_Allreduce(in, out, w->count, MPI_DOUBLE, MPI_SUM, w->comm);  // mark: reduce
    w->wrong += out[0] != size * (w->thread + 1);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int level = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (level < MPI_THREAD_MULTIPLE) return 77;
  struct Work works[2];
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) {
    works[i] = (struct Work){MPI_COMM_WORLD, i, 1, NumberAfter(argc, argv, "--rounds", 2000), 0};
    if (HasFlag(argc, argv, "--sizes")) works[i].count = 64 << i;
    if (HasFlag(argc, argv, "--healthy")) MPI_Comm_dup(MPI_COMM_WORLD, &works[i].comm);
  }
  pthread_barrier_init(&both_are_here, NULL, 2);
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, &works[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("rank %d: %d and %d results are wrong\n", rank, works[0].wrong, works[1].wrong);
  for (int i = 0; i < 2; ++i)
    if (works[i].comm != MPI_COMM_WORLD) MPI_Comm_free(&works[i].comm);
  MPI_Finalize();
  return 0;
}
