// All collectives go through one function, from one line with equal arguments: only who called it tells them apart.
//   --skip R   rank R leaves out the sum of its gradients in step 5. Compilers then make two sites of the line after it.
#include <mpi.h>
#include <stdio.h>

#include "arguments.h"

__attribute__((noinline)) static double sum(double value) {
  double total = 0;
  MPI_Allreduce(&value, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return total;
}

__attribute__((noinline)) static double share_activations(double value) { return sum(value) + 1; }

__attribute__((noinline)) static double sum_gradients(double value) { return sum(value) + 2; }  // mark: left out

__attribute__((noinline)) static double log_loss(double value) { return sum(value) + 3; }  // mark: instead

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int skips = rank == NumberAfter(argc, argv, "--skip", -1);
  double value = 1;
  for (int step = 0; step < 10; ++step) {
    value = share_activations(value) / 1000;
    if (!(skips && step == 5)) value = sum_gradients(value) / 1000;
    value = log_loss(value) / 1000;
  }
  if (rank == 0) printf("%g\n", value);
  MPI_Finalize();
  return 0;
}
