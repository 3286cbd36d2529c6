// A job of many steps with planted lateness, and its healthy twins.
//   --steps N --work-us N       each rank works that long in a step (sleeps; --spin: computes), then an allreduce
//   --bad-rank R, --all-bad     who is late, and how:
//     --constant-us N           by that in each step
//     --from S                  only from step S on
//     --every N --pause-us P    by P in every N-th step
//     --drift-us N              by N more in each step
//     --write-every N --write-us W   all write a checkpoint of 2 ms each N steps; the bad rank takes W more
//   --random-us N --seed S      each rank each step by a random time up to N
//   --gc-us N --gc-one-in K     each rank pauses for N in one of K steps, by chance
//   --ring                      a message to the right neighbour before the allreduce
//   --evaluate-every N --evaluate-us U   rank 0 alone works for U, and all meet at a barrier
//   --pause-all-ms N            everybody pauses once in the middle
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "arguments.h"

static int spin;

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

// Computing takes CPU time, not wall time: on a busy machine it takes longer.
static double cpu_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static void work(double us) {
  if (us <= 0) return;
  if (!spin) {
    usleep((useconds_t)us);
    return;
  }
  double end = cpu_us() + us;
  while (cpu_us() < end) continue;
}

static double sum(double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // mark: sum
  return all;
}

static void checkpoint(double us) {
  work(us);
  MPI_Barrier(MPI_COMM_WORLD);  // mark: checkpoint
}

static void evaluate(int rank, double us) {
  if (rank == 0) work(us);
  MPI_Barrier(MPI_COMM_WORLD);
}

static double shift(double mine, int rank, int size) {
  double theirs = 0;
  MPI_Sendrecv(&mine, 1, MPI_DOUBLE, (rank + 1) % size, 1, &theirs, 1, MPI_DOUBLE, (rank + size - 1) % size, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return theirs;
}

int main(int argc, char** argv) {
  int rank = 0, size = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  spin = HasFlag(argc, argv, "--spin");
  int steps = NumberAfter(argc, argv, "--steps", 200), work_us = NumberAfter(argc, argv, "--work-us", 5000);
  int bad = HasFlag(argc, argv, "--all-bad") || rank == NumberAfter(argc, argv, "--bad-rank", -1);
  int constant = bad ? NumberAfter(argc, argv, "--constant-us", 0) : 0, from = NumberAfter(argc, argv, "--from", 0);
  int every = NumberAfter(argc, argv, "--every", 0), pause = bad ? NumberAfter(argc, argv, "--pause-us", 0) : 0;
  int drift = bad ? NumberAfter(argc, argv, "--drift-us", 0) : 0;
  int write_every = NumberAfter(argc, argv, "--write-every", 0);
  int write_us = 2000 + (bad ? NumberAfter(argc, argv, "--write-us", 0) : 0);
  int random_us = NumberAfter(argc, argv, "--random-us", 0);
  int gc_us = NumberAfter(argc, argv, "--gc-us", 0), one_in = NumberAfter(argc, argv, "--gc-one-in", 20);
  int evaluate_every = NumberAfter(argc, argv, "--evaluate-every", 0);
  int evaluate_us = NumberAfter(argc, argv, "--evaluate-us", 0);
  int pause_all_ms = NumberAfter(argc, argv, "--pause-all-ms", 0), ring = HasFlag(argc, argv, "--ring");
  srand(NumberAfter(argc, argv, "--seed", 1) * 1000 + rank);
  double value = rank, begin = now_us();
  for (int step = 0; step < steps; ++step) {
    double us = work_us;
    if (step >= from) us += constant + (double)drift * (step - from);
    if (every && step % every == every - 1) us += pause;
    if (random_us) us += rand() % random_us;
    if (gc_us && rand() % one_in == 0) us += gc_us;
    work(us);
    if (ring) value = shift(value, rank, size);
    value = sum(value) / size;
    if (write_every && step % write_every == write_every - 1) checkpoint(write_us);
    if (evaluate_every && step % evaluate_every == evaluate_every - 1) evaluate(rank, evaluate_us);
    if (step == steps / 2 && pause_all_ms) usleep(pause_all_ms * 1000);
  }
  if (rank == 0) printf("%d steps, %.1f ms each\n", steps, (now_us() - begin) / steps / 1e3);
  MPI_Finalize();
  return 0;
}
