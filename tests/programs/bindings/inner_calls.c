// Calls inside of calls: those that MPI's file system makes to itself are no calls of the program, those of the program's own
// functions that MPI calls back are. inner_calls [FILE]
#include <mpi.h>
#include <stdio.h>

static void add(void* in, void* out, int* count, MPI_Datatype* type) {
  int bytes = 0;
  (void)type;
  MPI_Type_size(MPI_INT, &bytes);
  for (int i = 0; i < *count; ++i) ((int*)out)[i] += ((int*)in)[i];
}

// Of an attribute: called by MPI_Comm_free. A message to the rank itself.
static int let_go(MPI_Comm comm, int key, void* value, void* extra) {
  int out = 3, in = 0;
  (void)comm, (void)key, (void)value, (void)extra;
  MPI_Sendrecv(&out, 1, MPI_INT, 0, 77, &in, 1, MPI_INT, 0, 77, MPI_COMM_SELF, MPI_STATUS_IGNORE);  // mark: callback
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  int rank, size, key, one = 1, sum = 0;
  int data[64] = {0};
  MPI_Comm copy;
  MPI_Op op;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1) {
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof data, data, 64, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
  }
  MPI_Op_create(add, 1, &op);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
  MPI_Op_free(&op);
  MPI_Comm_dup(MPI_COMM_SELF, &copy);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, let_go, &key, NULL);
  MPI_Comm_set_attr(copy, key, NULL);
  MPI_Comm_free(&copy);
  MPI_Comm_free_keyval(&key);
  MPI_Finalize();
  printf("rank %d of %d: sum %d\n", rank, size, sum);
  return 0;
}
