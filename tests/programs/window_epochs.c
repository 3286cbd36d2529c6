// Post, start, complete and wait on a window of a ring. --fault says what rank 1 leaves out in the third turn:
//   post      so that its left neighbour waits in MPI_Win_start
//   complete  so that its right neighbour waits in MPI_Win_wait
// and goes on to a barrier. Without --fault every turn is whole.
#include <mpi.h>
#include <stdio.h>

#include "arguments.h"

static MPI_Win window;
static MPI_Group left_group, right_group;
static int right, one = 1;

static void expose(void) {
  MPI_Win_post(left_group, 0, window);
}

static void reach(void) {
  MPI_Win_start(right_group, 0, window);  // mark: start
  MPI_Put(&one, 1, MPI_INT, right, 0, 1, MPI_INT, window);
}

static void finish(void) {
  MPI_Win_wait(window);  // mark: wait
}

static MPI_Group group_of(int rank) {
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &rank, &group);
  MPI_Group_free(&world);
  return group;
}

int main(int argc, char** argv) {
  int rank = 0, size = 1;
  int* memory = NULL;
  const char* fault = TextAfter(argc, argv, "--fault", "");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size;
  int left = (rank + size - 1) % size;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_set_name(window, "ring");
  for (int turn = 0; turn < 5; ++turn) {
    int faulty = rank == 1 && turn == 2;
    left_group = group_of(left), right_group = group_of(right);
    if (faulty && strcmp(fault, "post") == 0) break;
    expose();
    reach();
    if (faulty && strcmp(fault, "complete") == 0) break;
    MPI_Win_complete(window);
    finish();
    MPI_Group_free(&left_group), MPI_Group_free(&right_group);
  }
  printf("rank %d is done\n", rank);
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);  // mark: barrier
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
