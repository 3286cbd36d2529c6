/* A small job for run_ranks.py: STEPS all-reduces (default 10) whose result each rank checks. all_reduce [STEPS] */
#include "tests/fakes/client/cuda.h"
#include "tests/fakes/client/id_file.h"

int main(int argc, char** argv) {
  int rank = RankFromEnvironment(), ranks = RanksFromEnvironment(), steps = argc > 1 ? atoi(argv[1]) : 10;
  int *data, result = 0;
  ncclComm_t comm;
  cudaSetDevice(rank);
  ncclUniqueId id = SharedId(0);
  if (ncclCommInitRank(&comm, ranks, id, rank) != ncclSuccess) return 2;
  cudaMalloc((void**)&data, sizeof(int));
  for (int step = 0; step < steps; ++step) {
    int mine = step + rank;
    cudaMemcpy(data, &mine, sizeof(int), cudaMemcpyDefault);
    if (ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, 0) != ncclSuccess) return 3;
    cudaMemcpy(&result, data, sizeof(int), cudaMemcpyDefault);
    if (result != ranks * step + ranks * (ranks - 1) / 2) return 4;
  }
  printf("rank %d ok\n", rank);
  return ncclCommDestroy(comm);
}
