// Calls MPI from stacks that are easily taken for one another: the same functions in other orders, with frames of sizes
// that differ from call to call. Prints the functions above each call, outermost first.
#include <alloca.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Path {
  int length;
  char step[24];
} Path;

static void next(const Path* path, int at);

#define STEP(name, bytes)                                                  \
  __attribute__((noinline)) static void step_##name(const Path* p, int at) { \
    volatile char* room = alloca(bytes);                                   \
    room[0] = 1;                                                           \
    next(p, at + 1);                                                       \
    room[0] = 2;                                                           \
  }
#define FIXED(name)                                                        \
  __attribute__((noinline)) static void step_##name(const Path* p, int at) { \
    next(p, at + 1);                                                       \
    __asm__ volatile("");                                                  \
  }

FIXED(a)
FIXED(b)
FIXED(c)
STEP(d, 16 + 16 * (p->step[at] & 3) * (p->length % 3))
STEP(e, 32)

// In one function, so that the last call has one call site: only what lies above it differs.
__attribute__((noinline)) static void next(const Path* path, int at) {
  static void (*const steps[])(const Path*, int) = {step_a, step_b, step_c, step_d, step_e};
  if (at == path->length)
    MPI_Barrier(MPI_COMM_SELF);
  else
    steps[path->step[at] - 'a'](path, at);
  __asm__ volatile("");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  Path paths[40];
  for (int i = 0; i < 40; ++i) {
    memset(&paths[i], 0, sizeof(Path));
    seed = seed * 1103515245u + 12345u;
    paths[i].length = i < 20 ? 6 : 1 + (int)(seed >> 16) % 20;
    for (int k = 0; k < paths[i].length; ++k) {
      seed = seed * 1103515245u + 12345u;
      paths[i].step[k] = (char)('a' + (seed >> 16) % (i < 20 ? 3 : 5));
    }
  }
  for (int call = 0; call < 4000; ++call) {
    seed = seed * 1103515245u + 12345u;
    const Path* path = &paths[(seed >> 16) % 40];
    int times = 1 + (int)(seed >> 24) % 4;  // rows of one stack, so that it is recognised
    for (int i = 0; i < times; ++i) {
      next(path, 0);
      puts(path->step);
    }
  }
  MPI_Finalize();
  return 0;
}
