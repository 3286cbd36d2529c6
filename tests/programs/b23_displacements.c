// Report B23: rank 0 gathers bytes into blocks of 1.2e9, and the int displacement of the third one overflows. The blocks
// are address space that nobody fills; what is sent is small. --healthy: displacements in units of 1 KB.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "arguments.h"

enum { kRanks = 3, kBlock = 1200000000, kUnit = 1000, kSent = 2000 };

static void gather_bytes(const char* mine, char* all) {
  int counts[kRanks], displacements[kRanks];
  unsigned sum = 0;
  for (int i = 0; i < kRanks; ++i) counts[i] = kSent, displacements[i] = (int)sum, sum += kBlock;
  MPI_Gatherv(mine, kSent, MPI_CHAR, all, counts, displacements, MPI_CHAR, 0, MPI_COMM_WORLD);  // mark: gather
}

static void gather_units(const char* mine, char* all) {
  MPI_Datatype unit;
  MPI_Type_contiguous(kUnit, MPI_CHAR, &unit);
  MPI_Type_commit(&unit);
  int counts[kRanks], displacements[kRanks];
  for (int i = 0; i < kRanks; ++i) counts[i] = kSent / kUnit, displacements[i] = i * (kBlock / kUnit);
  MPI_Gatherv(mine, kSent / kUnit, unit, all, counts, displacements, unit, 0, MPI_COMM_WORLD);
  MPI_Type_free(&unit);
}

int main(int argc, char** argv) {
  int rank = 0;
  char mine[kSent];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  memset(mine, 'a' + rank, sizeof mine);
  char* all = NULL;
  if (rank == 0)
    all = mmap(NULL, 3l * kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (HasFlag(argc, argv, "--healthy"))
    gather_units(mine, all);
  else
    gather_bytes(mine, all);
  if (rank == 0) printf("%c%c%c\n", all[0], all[kBlock], all[2l * kBlock]);
  MPI_Finalize();
  return 0;
}
