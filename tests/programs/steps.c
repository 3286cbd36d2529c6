// A job of many steps that takes a while: an exchange with both neighbours and an allreduce a step, and a pause.
//   --steps N --pause-us N   how long
//   --how H --rank R --step S   rank R ends in step S: kill (SIGKILL), segv, abort (SIGABRT), exit (code 3),
//                            mpi_abort (code 5), or stops to call anything: sleep
//   --started FILE           each rank appends one byte to it when it has done ten steps
//   --progress FILE          rank 0 appends one byte to it every 100 steps
// Prints the same on each run.
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "arguments.h"

static double exchange_halo(double mine, int right, int left) {
  double theirs = 0;
  MPI_Sendrecv(&mine, 1, MPI_DOUBLE, right, 1, &theirs, 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return theirs;
}

static double sum_energy(double energy) {
  double sum = 0;
  MPI_Allreduce(&energy, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

static void end_here(const char* how) {
  fflush(stdout);
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "segv") == 0) raise(SIGSEGV);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "exit") == 0) exit(3);
  if (strcmp(how, "mpi_abort") == 0) MPI_Abort(MPI_COMM_WORLD, 5);
  if (strcmp(how, "sleep") == 0) {
    for (;;) pause();
  }
}

static void append_byte(const char* path) {
  int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (file < 0 || write(file, ".", 1) != 1) perror(path);
  close(file);
}

int main(int argc, char** argv) {
  int rank = 0, size = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int steps = NumberAfter(argc, argv, "--steps", 100);
  int pause_us = NumberAfter(argc, argv, "--pause-us", 10000);
  int bad_step = rank == NumberAfter(argc, argv, "--rank", -1) ? NumberAfter(argc, argv, "--step", 20) : -1;
  const char* started = TextAfter(argc, argv, "--started", NULL);
  const char* progress = rank == 0 ? TextAfter(argc, argv, "--progress", NULL) : NULL;
  double value = rank, energy = 0;
  for (int step = 0; step < steps; ++step) {
    if (step == bad_step) end_here(TextAfter(argc, argv, "--how", "kill"));
    if (step == 10 && started) append_byte(started);
    if (step % 100 == 99 && progress) append_byte(progress);
    value = exchange_halo(value, (rank + 1) % size, (rank + size - 1) % size);
    energy = sum_energy(value);
    if (pause_us > 0) usleep(pause_us);
  }
  if (rank == 0) printf("energy after %d steps: %g\n", steps, energy);
  MPI_Finalize();
  return 0;
}
