// Calls MPI_Pcontrol with more arguments than registers hold, and a floating one; prints what it returns.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int result = MPI_Pcontrol(1, "solve", 1, 2, 3, 4, 5, 6, 7, 8, 2.5);
  printf("returned %d\n", result);
  MPI_Pcontrol(1, (const char*)16);          // no label: nothing that can be read
  MPI_Pcontrol(-1, (const char*)&argc + 1);  // nor text
  MPI_Finalize();
  return 0;
}
