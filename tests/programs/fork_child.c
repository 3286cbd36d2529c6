// Healthy: children made before, during and after MPI, some of which exec.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int child_says(int code) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) _exit(system("true") == 0 ? code : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

int main(int argc, char** argv) {
  int rank = 0, sum = 0, codes = child_says(2);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  codes += child_says(3);
  codes += system("exit 4") / 256;
  MPI_Allreduce(&codes, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  codes += child_says(5);
  printf("rank %d: children said %d, at most %d in MPI\n", rank, codes, sum);
  return 0;
}
