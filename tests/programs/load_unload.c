// A program that takes up MPI by dlopen and lets it go by dlclose.
//   load_unload plugins FILE...   each file in turn: loaded, its run() called, unloaded
//   load_unload handle FILE       an MPI library itself, called by what dlsym says of it
// Compiled with -DLINKED it is linked to an MPI too, and runs that after all else.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uintptr_t Word;

static void* load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) printf("%s\n", dlerror());
  return library;
}

static int count_libmpi(struct dl_phdr_info* info, size_t size, void* count) {
  (void)size;
  *(int*)count += strstr(info->dlpi_name, "/libmpi") != NULL;
  return 0;
}

static void unload(void* library) {
  int left = 0;
  int failed = dlclose(library);
  dl_iterate_phdr(count_libmpi, &left);
  printf("dlclose %d, MPI libraries left: %d\n", failed, left);
}

static void run_plugin(const char* path, int round) {
  void* library = load(path);
  if (!library) return;
  void (*run)(int) = (void (*)(int))dlsym(library, "run");
  run(round);
  unload(library);
}

static Word call(void* library, const char* name, Word a, Word b) {
  Word (*function)(Word, Word) = (Word(*)(Word, Word))dlsym(library, name);
  return (unsigned)function(a, b);
}

static void run_handle(const char* path, int whole) {
  void* library = load(path);
  if (!library) return;
  int version = 0, subversion = 0;
  call(library, "MPI_Get_version", (Word)&version, (Word)&subversion);
  printf("MPI %d\n", version);
  if (whole) {
    Word world = (Word)dlsym(library, "ompi_mpi_comm_world");
    printf("init %lu\n", (unsigned long)call(library, "MPI_Init", 0, 0));
    printf("barrier %lu\n", (unsigned long)call(library, "MPI_Barrier", world ? world : 0x44000000, 0));
    printf("finalize %lu\n", (unsigned long)call(library, "MPI_Finalize", 0, 0));
  }
  unload(library);
}

#ifdef LINKED
#include <mpi.h>
static void run_linked(void) {
  int in = 7, out = 0;
  MPI_Init(NULL, NULL);
  MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  printf("linked: sum %d\n", out);
}
enum { kLinked = 1 };
#else
static void run_linked(void) {}
enum { kLinked = 0 };
#endif

int main(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    if (strcmp(argv[1], "plugins") == 0) run_plugin(argv[i], i);
    if (strcmp(argv[1], "handle") == 0) run_handle(argv[i], !kLinked);
  }
  run_linked();
  return 0;
}
