// 16 threads make their first MPI calls at the same instant, and no MPI call was made by the program's own means
// before: MPI_Init was called by what dlsym says of the library's own handle, as plug-ins and interpreters do. Each
// thread sends its number to itself, under it as the tag.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { kThreads = 16 };

static pthread_barrier_t together;
static int received[kThreads];

static void* first_call(void* number) {
  int tag = (int)(long)number;
  pthread_barrier_wait(&together);
  MPI_Sendrecv(&tag, 1, MPI_INT, 0, tag, &received[tag], 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return NULL;
}

static int find_mpi(struct dl_phdr_info* info, size_t size, void* path) {
  (void)size;
  if (!strstr(info->dlpi_name, "/libmpi.so") && !strstr(info->dlpi_name, "/libmpich.so")) return 0;
  *(const char**)path = info->dlpi_name;
  return 1;
}

int main(void) {
  const char* path = NULL;
  int level = -1, sum = 0;
  pthread_t threads[kThreads];
  dl_iterate_phdr(find_mpi, &path);
  void* library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  int (*init)(int*, char***, int, int*) = (int (*)(int*, char***, int, int*))dlsym(library, "PMPI_Init_thread");
  init(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
  pthread_barrier_init(&together, NULL, kThreads);
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, first_call, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; ++i) sum += received[i];
  printf("multiple %d, sum %d\n", level == MPI_THREAD_MULTIPLE, sum);
  MPI_Finalize();
  return 0;
}
