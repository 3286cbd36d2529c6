// Calls that the program makes in functions that MPI calls: a reduction operator, an attribute's delete function, an
// error handler that leaves by longjmp. And a call that returns an error.
#include <mpi.h>
#include <setjmp.h>
#include <stdlib.h>

static MPI_Comm kept;
static jmp_buf back;

static void add(void* in, void* out, int* count, MPI_Datatype* type) {
  int flag = 0;
  (void)type;
  MPI_Iprobe(0, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  for (int i = 0; i < *count; ++i) ((int*)out)[i] += ((int*)in)[i];
}

static int forget(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)value, (void)state;
  return MPI_Comm_free(&kept);
}

static void leave(MPI_Comm* comm, int* error, ...) {
  (void)comm, (void)error;
  longjmp(back, 1);
}

int main(int argc, char** argv) {
  MPI_Comm copy;
  MPI_Op op;
  MPI_Errhandler handler;
  int key = 0, one = 1, sum = 0, rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Op_create(add, 1, &op);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &kept);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, NULL);
  MPI_Comm_set_attr(copy, key, &sum);
  MPI_Comm_free(&copy);
  MPI_Comm_create_errhandler(leave, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  if (!setjmp(back)) MPI_Send(&one, 1, MPI_INT, 1000, 1, MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Send(&one, 1, MPI_INT, 1000, 2, MPI_COMM_SELF);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Errhandler_free(&handler);
  MPI_Op_free(&op);
  MPI_Finalize();
  return sum < 1;
}
