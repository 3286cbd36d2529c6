// ns per MPI call of one rank, for bench.sh: each line "name ns", the median of batches. The calls do as little as MPI
// allows (to itself, or alone), so that what a tracer adds is seen.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../shim/ddbg.h"

enum { kBatches = 41, kCalls = 2000 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static int compare(const void* a, const void* b) { return (*(double*)a > *(double*)b) - (*(double*)a < *(double*)b); }

static void sendrecv(void) {
  double out = 1, in;
  MPI_Sendrecv(&out, 1, MPI_DOUBLE, 0, 1, &in, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void iprobe(void) {
  int flag;
  MPI_Iprobe(0, 9, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void allreduce(void) {
  double in = 1, out;
  MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void barrier(void) { MPI_Barrier(MPI_COMM_SELF); }

static void step(void) { ddbg_step(7); }

static void phase(void) { ddbg_phase_begin("forward"); }

static void pcontrol(void) { MPI_Pcontrol(1, "forward"); }

// `depth` frames of the program's own above the call.
static __attribute__((noinline)) void at_depth(int depth, void (*call)(void)) {
  if (depth > 0)
    at_depth(depth - 1, call);
  else
    for (int i = 0; i < kCalls; ++i) call();
  __asm__ volatile("");  // no tail call
}

static void measure(const char* name, int depth, void (*call)(void)) {
  double samples[kBatches];
  at_depth(depth, call);
  for (int b = 0; b < kBatches; ++b) {
    // The ring is drained meanwhile: its being full is another case.
    struct timespec pause = {0, 15000000};
    nanosleep(&pause, NULL);
    double start = now_ns();
    at_depth(depth, call);
    samples[b] = (now_ns() - start) / kCalls;
  }
  qsort(samples, kBatches, sizeof(double), compare);
  printf("%s %.1f\n", name, samples[kBatches / 2]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int depth = argc > 1 ? atoi(argv[1]) : 4;
  measure("MPI_Sendrecv", depth, sendrecv);
  measure("MPI_Iprobe", depth, iprobe);
  measure("MPI_Allreduce", depth, allreduce);
  measure("MPI_Barrier", depth, barrier);
  measure("ddbg_step", depth, step);
  measure("ddbg_phase_begin", depth, phase);
  measure("MPI_Pcontrol", depth, pcontrol);
  MPI_Finalize();
  return 0;
}
