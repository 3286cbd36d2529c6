// One rank does something else than its peers. --fault says what, --rank N who (2 if not given):
//   missing     world#1: it skips the barrier, so its later calls are shifted by one
//   root        world#2: it broadcasts from root 1 instead of 0
//   op          world#3: it reduces by MPI_MAX instead of MPI_SUM
//   collective  world#4: it calls MPI_Barrier where the others call MPI_Allreduce
//   type        world#5: it reduces MPI_FLOAT where the others reduce MPI_INT
//   leaves      world#6: it goes to MPI_Finalize while the others wait in a barrier
// Without --fault all ranks make the same calls.
#include <mpi.h>
#include <stdio.h>

#include "arguments.h"

static void start_together(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void synchronise(int skip) {
  if (!skip) MPI_Barrier(MPI_COMM_WORLD);  // mark: missing
}

static void share(int* value, int root) {
  MPI_Bcast(value, 1, MPI_INT, root, MPI_COMM_WORLD);  // mark: root
}

static void reduce(int* value, MPI_Op op) {
  int result = 0;
  MPI_Allreduce(value, &result, 1, MPI_INT, op, MPI_COMM_WORLD);  // mark: op
  *value = result;
}

static void reduce_or_wait(int* value, int wait) {
  if (wait) {
    MPI_Barrier(MPI_COMM_WORLD);  // mark: collective
  } else {
    reduce(value, MPI_SUM);
  }
}

static void reduce_typed(int* value, MPI_Datatype type) {
  int result = 0;
  MPI_Allreduce(value, &result, 1, type, MPI_SUM, MPI_COMM_WORLD);  // mark: type
  *value = result;
}

static void end_together(int leave) {
  if (!leave) MPI_Barrier(MPI_COMM_WORLD);  // mark: leaves
}

int main(int argc, char** argv) {
  int rank = 0, value = 1;
  const char* fault = TextAfter(argc, argv, "--fault", "");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int odd = rank == NumberAfter(argc, argv, "--rank", 2);
  start_together();
  synchronise(odd && strcmp(fault, "missing") == 0);
  share(&value, odd && strcmp(fault, "root") == 0 ? 1 : 0);
  reduce(&value, odd && strcmp(fault, "op") == 0 ? MPI_MAX : MPI_SUM);
  reduce_or_wait(&value, odd && strcmp(fault, "collective") == 0);
  reduce_typed(&value, odd && strcmp(fault, "type") == 0 ? MPI_FLOAT : MPI_INT);
  end_together(odd && strcmp(fault, "leaves") == 0);
  printf("rank %d done\n", rank);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
