// Ranks that wait for the lock of a window. --fault says which:
//   order    ranks 0 and 1 lock their own memory and then each other's: both wait
//   kept     rank 0 forgets to unlock and goes on to a barrier; rank 1 waits for the lock
//   receive  rank 0 waits, under its lock, for what rank 1 sends when it has had that lock
//   readers  all but rank 1 lock everything to read and meet in a barrier before rank 1 has written
// Without --fault the same is done in an order that works; --hold MS: for so long rank 0 has a lock that rank 1 wants.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#include "arguments.h"

static int rank, one = 1;
static MPI_Win window;

static void put(int target) { MPI_Put(&one, 1, MPI_INT, target, 0, 1, MPI_INT, window); }

static void tell(int peer) { MPI_Send(&one, 1, MPI_INT, peer, 1, MPI_COMM_WORLD); }

static void hear_of(int peer) {
  MPI_Recv(&one, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // mark: hear
}

static void both(int first, int second, int meet) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, first, 0, window);  // mark: first
  put(first);
  if (meet) MPI_Sendrecv_replace(&one, 1, MPI_INT, 1 - rank, 2, 1 - rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, second, 0, window);  // mark: second
  put(second);
  MPI_Win_unlock(second, window);
  MPI_Win_unlock(first, window);
}

static void push(int target, int keep, int milliseconds) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);  // mark: push
  put(target);
  MPI_Win_flush(target, window);
  tell(1);
  usleep(1000 * milliseconds);
  if (!keep) MPI_Win_unlock(target, window);
}

static void pull(int target) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);  // mark: pull
  put(target);
  MPI_Win_unlock(target, window);
}

static void read_all(void) {
  int value = 0;
  MPI_Win_lock_all(0, window);  // mark: lock all
  MPI_Get(&value, 1, MPI_INT, 2, 0, 1, MPI_INT, window);
  MPI_Win_flush(2, window);
}

static void meet(void) {
  MPI_Barrier(MPI_COMM_WORLD);  // mark: meet
}

// An order that works, and locks that do not keep each other out.
static void work(int hold) {
  if (rank < 2) both(0, 1, 0);
  if (rank == 0) push(2, 0, hold);
  if (rank == 1) hear_of(0), pull(2);
  meet();
  read_all();
  meet();
  MPI_Win_unlock_all(window);
  meet();
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, MPI_MODE_NOCHECK, window);
  put(rank);
  meet();
  MPI_Win_unlock(rank, window);
}

static void fail(const char* fault) {
  if (strcmp(fault, "order") == 0 && rank < 2) both(rank, 1 - rank, 1);
  int kept = strcmp(fault, "kept") == 0, receive = strcmp(fault, "receive") == 0;
  if ((kept || receive) && rank == 0) push(2, 1, 0);
  if (receive && rank == 0) hear_of(1);
  if ((kept || receive) && rank == 1) hear_of(0), pull(2), tell(0);
  if (strcmp(fault, "readers") == 0) {
    if (rank != 1) read_all();
    if (rank == 0) tell(1);
    if (rank == 1) hear_of(0), pull(2);
  }
}

int main(int argc, char** argv) {
  int* memory = NULL;
  const char* fault = TextAfter(argc, argv, "--fault", "");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_set_name(window, "table");
  *memory = 0;
  meet();
  if (*fault)
    fail(fault);
  else
    work(NumberAfter(argc, argv, "--hold", 0));
  printf("rank %d is done\n", rank);
  fflush(stdout);
  meet();
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
