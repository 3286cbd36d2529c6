// The calls whose list tests/e2e/test_bindings.py expects, from C and, compiled as C++, from C++ through C's names.
//   -DPLUGIN    a plug-in with run(), for host.c
//   -DBY_NAME   linked to no MPI: the library is argv[1], and everything of it is asked for by dlsym
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef BY_NAME
#include <dlfcn.h>
static void* library;
static void* named(const char* name) {
  void* found = dlsym(library, name);
  if (!found) printf("%s\n", dlerror()), exit(1);
  return found;
}
#define FUNCTION(name) ((__typeof__(&name))named(#name))
#define MPI_Init FUNCTION(MPI_Init)
#define MPI_Comm_rank FUNCTION(MPI_Comm_rank)
#define MPI_Comm_size FUNCTION(MPI_Comm_size)
#define MPI_Barrier FUNCTION(MPI_Barrier)
#define MPI_Bcast FUNCTION(MPI_Bcast)
#define MPI_Allreduce FUNCTION(MPI_Allreduce)
#define MPI_Irecv FUNCTION(MPI_Irecv)
#define MPI_Isend FUNCTION(MPI_Isend)
#define MPI_Waitall FUNCTION(MPI_Waitall)
#define MPI_Comm_dup FUNCTION(MPI_Comm_dup)
#define MPI_Comm_split FUNCTION(MPI_Comm_split)
#define MPI_Type_contiguous FUNCTION(MPI_Type_contiguous)
#define MPI_Type_commit FUNCTION(MPI_Type_commit)
#define MPI_Type_free FUNCTION(MPI_Type_free)
#define MPI_Sendrecv FUNCTION(MPI_Sendrecv)
#define MPI_Comm_free FUNCTION(MPI_Comm_free)
#define MPI_Finalize FUNCTION(MPI_Finalize)
#ifdef OPEN_MPI
#undef MPI_COMM_WORLD
#undef MPI_INT
#undef MPI_DOUBLE
#undef MPI_SUM
#define MPI_COMM_WORLD ((MPI_Comm)named("ompi_mpi_comm_world"))
#define MPI_INT ((MPI_Datatype)named("ompi_mpi_int"))
#define MPI_DOUBLE ((MPI_Datatype)named("ompi_mpi_double"))
#define MPI_SUM ((MPI_Op)named("ompi_mpi_op_sum"))
#endif
#endif

static void make_calls(void) {
  int rank, size, one[4] = {1, 2, 3, 4}, two[4] = {0, 0, 0, 0};
  double in[2] = {1, 2}, out[2];
  MPI_Comm copy, half;
  MPI_Datatype three;
  MPI_Request requests[2];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Barrier(MPI_COMM_WORLD);  // mark: barrier
  MPI_Bcast(one, 3, MPI_INT, 1, MPI_COMM_WORLD);
  MPI_Allreduce(in, out, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Irecv(two, 4, MPI_INT, left, 11, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(one, 4, MPI_INT, right, 11, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Type_contiguous(3, MPI_INT, &three);
  MPI_Type_commit(&three);
  MPI_Sendrecv(one, 1, three, right, 12, two, 1, three, left, 12, copy, MPI_STATUS_IGNORE);
  MPI_Barrier(half);
  MPI_Type_free(&three);
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
  MPI_Finalize();
  printf("rank %d of %d: %g %d\n", rank, size, out[1], two[2]);
}

#if defined(PLUGIN)
#ifdef __cplusplus
extern "C"
#endif
    void
    run(void) {
  make_calls();
}
#elif defined(BY_NAME)
int main(int argc, char** argv) {
  library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
  if (!library) return printf("%s\n", dlerror()), 1;
  make_calls();
  return 0;
}
#else
int main(void) {
  make_calls();
  return 0;
}
#endif
