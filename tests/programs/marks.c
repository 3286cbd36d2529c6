// Steps with marks in them, as ddbg/ddbg.h has it, and MPI_Pcontrol as IPM's users have it. Options: --steps N, --slow
// RANK: works thirty times as long in its loader. Compiled without MPI (-DWITHOUT_MPI) it only marks. Prints "N marks".
#ifndef WITHOUT_MPI
#include <mpi.h>
#endif
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/ddbg.h"

static void work(double ms) {
  struct timespec now, end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_nsec += (long)(ms * 1e6);
  end.tv_sec += end.tv_nsec / 1000000000;
  end.tv_nsec %= 1000000000;
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

int main(int argc, char** argv) {
  int steps = 6, slow = -1, rank = 0, marks = 0;
  for (int i = 1; i + 1 < argc; ++i) {
    if (!strcmp(argv[i], "--steps")) steps = atoi(argv[i + 1]);
    if (!strcmp(argv[i], "--slow")) slow = atoi(argv[i + 1]);
  }
#ifndef WITHOUT_MPI
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
  for (int step = 0; step < steps; ++step) {
    errno = 77;
    ddbg_step(100 + step), ++marks;
    ddbg_phase_begin("loader"), ++marks;
    work(rank == slow ? 60 : 2);
    ddbg_phase_end("loader"), ++marks;
    char name[] = "forward";  // the name is copied, wherever it lies
    ddbg_phase_begin(name), ++marks;
    memset(name, 'x', sizeof(name) - 1);
    ddbg_phase_begin("inner"), ++marks;
    ddbg_phase_end("forward"), ++marks;  // ends the inner one too
    ddbg_phase_end(NULL), ++marks;       // nothing is open: no phase
    ddbg_value("loss", step == 5 ? NAN : 0.5 * step), ++marks;
    char text[32];
    snprintf(text, sizeof(text), "/scratch/step-%d.pt", step);
    ddbg_event("checkpoint_write", text, -step, 3000000), ++marks;
    memset(text, 'x', sizeof(text) - 1);
    if (errno != 77) return 1;
#ifndef WITHOUT_MPI
    MPI_Pcontrol(1, "backward"), ++marks;
    double in = rank, out = 0;
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Pcontrol(-1, "backward"), ++marks;
    MPI_Pcontrol(0, "saved"), ++marks;
    MPI_Pcontrol(2), ++marks;
#endif
  }
#ifndef WITHOUT_MPI
  MPI_Finalize();
#endif
  printf("%d marks\n", marks);
  return 0;
}
