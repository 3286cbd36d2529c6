// Every function on windows, and what it called: --counts PREFIX (counted.h). --skip-fence RANK: that rank leaves out
// the last fence.
#include "counted.h"

static int rank, size, right, left;

static void fences(MPI_Win win, int* out) {
  int fetched = 0, compare = 0;
  CALL(Win_fence, 0, win);
  CALL(Put, out, 1, MPI_INT, right, 0, 1, MPI_INT, win);
  CALL(Win_fence, 0, win);
  CALL(Get, &fetched, 1, MPI_INT, right, 1, 1, MPI_INT, win);
  CALL(Accumulate, out, 1, MPI_INT, right, 2, 1, MPI_INT, MPI_SUM, win);
  CALL(Win_fence, 0, win);
  CALL(Get_accumulate, out, 1, MPI_INT, &fetched, 1, MPI_INT, right, 2, 1, MPI_INT, MPI_SUM, win);
  CALL(Win_fence, 0, win);
  CALL(Fetch_and_op, out, &fetched, MPI_INT, right, 2, MPI_SUM, win);
  CALL(Win_fence, 0, win);
  CALL(Compare_and_swap, out, &compare, &fetched, MPI_INT, right, 3, win);
  CALL(Win_fence, 0, win);
}

static void locks(MPI_Win win, int* out) {
  int fetched = 0;
  MPI_Request r;
  CALL(Win_lock, MPI_LOCK_EXCLUSIVE, right, 0, win);
  CALL(Put, out, 1, MPI_INT, right, 0, 1, MPI_INT, win);
  CALL(Win_flush, right, win);
  CALL(Win_flush_local, right, win);
  CALL(Win_unlock, right, win);
  CALL(Win_lock_all, 0, win);
  CALL(Rput, out, 1, MPI_INT, right, 0, 1, MPI_INT, win, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Rget, &fetched, 1, MPI_INT, right, 1, 1, MPI_INT, win, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Raccumulate, out, 1, MPI_INT, right, 2, 1, MPI_INT, MPI_SUM, win, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Rget_accumulate, out, 1, MPI_INT, &fetched, 1, MPI_INT, right, 2, 1, MPI_INT, MPI_SUM, win, &r);
  CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Win_sync, win);
  CALL(Win_flush_all, win);
  CALL(Win_flush_local_all, win);
  CALL(Win_unlock_all, win);
}

#if MPI_VERSION >= 4
static void large_counts(MPI_Win win, int* out) {
  int fetched = 0;
  MPI_Request r;
  CALL(Win_lock_all, 0, win);
  CALL(Put_c, out, 1, MPI_INT, right, 0, 1, MPI_INT, win);
  CALL(Win_flush, right, win);
  CALL(Get_c, &fetched, 1, MPI_INT, right, 1, 1, MPI_INT, win);
  CALL(Accumulate_c, out, 1, MPI_INT, right, 2, 1, MPI_INT, MPI_SUM, win);
  CALL(Get_accumulate_c, out, 1, MPI_INT, &fetched, 1, MPI_INT, right, 2, 1, MPI_INT, MPI_SUM, win);
  CALL(Rput_c, out, 1, MPI_INT, right, 0, 1, MPI_INT, win, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Rget_c, &fetched, 1, MPI_INT, right, 1, 1, MPI_INT, win, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Raccumulate_c, out, 1, MPI_INT, right, 2, 1, MPI_INT, MPI_SUM, win, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Rget_accumulate_c, out, 1, MPI_INT, &fetched, 1, MPI_INT, right, 2, 1, MPI_INT, MPI_SUM, win, &r);
  CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Win_unlock_all, win);
}
#endif

static void neighbours(MPI_Win win, int* out) {
  int ends[2] = {left, right}, flag = 0;
  MPI_Group world, both;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, left == right ? 1 : 2, ends, &both);
  CALL(Win_post, both, 0, win), CALL(Win_start, both, 0, win);
  CALL(Put, out, 1, MPI_INT, right, 0, 1, MPI_INT, win);
  CALL(Win_complete, win), CALL(Win_wait, win);
  CALL(Win_post, both, 0, win), CALL(Win_start, both, 0, win), CALL(Win_complete, win);
  while (!flag) CALL(Win_test, win, &flag);
  MPI_Group_free(&both), MPI_Group_free(&world);
}

int main(int argc, char** argv) {
  int memory[8] = {0}, out = 7;
  int* allocated = NULL;
  MPI_Win win;
  CALL(Init, &argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  CALL(Win_create, memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  CALL(Win_set_name, win, "halo");
  fences(win, &out);
  if (rank != NumberAfter(argc, argv, "--skip-fence", -1)) CALL(Win_fence, 0, win);
  locks(win, &out);
#if MPI_VERSION >= 4
  large_counts(win, &out);
#endif
  CALL(Barrier, MPI_COMM_WORLD);
  neighbours(win, &out);
  CALL(Win_free, &win);
  CALL(Win_allocate, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &win);
  CALL(Win_free, &win);
  CALL(Win_allocate_shared, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &win);
  CALL(Win_free, &win);
#if MPI_VERSION >= 4
  CALL(Win_create_c, memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  CALL(Win_free, &win);
  CALL(Win_allocate_c, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &win);
  CALL(Win_free, &win);
  CALL(Win_allocate_shared_c, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &win);
  CALL(Win_free, &win);
#endif
  CALL(Win_create_dynamic, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  CALL(Win_attach, win, memory, sizeof memory), CALL(Win_detach, win, memory);
  CALL(Win_free, &win);
  CALL(Finalize);
  return write_counts(TextAfter(argc, argv, "--counts", "counts"), rank);
}
