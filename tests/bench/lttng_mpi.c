// Preloaded by bench.py: the calls of call_cost.c with a tracepoint of LTTng-UST each, and the two timestamps that a
// duration takes.
#include <mpi.h>
#include <time.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_mpi.h"

static unsigned long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000UL + t.tv_nsec;
}

#define TRACED(number, real, comm, dtype, count, peer, tag)                                                       \
  unsigned long start = now();                                                                                    \
  int result = real;                                                                                              \
  lttng_ust_tracepoint(ddbg_bench, call, number, (unsigned long)comm, (unsigned long)dtype, count, peer, tag, start, \
                       now() - start);                                                                            \
  return result

int MPI_Sendrecv(const void* out, int count, MPI_Datatype dtype, int to, int tag, void* in, int in_count,
                 MPI_Datatype in_dtype, int from, int in_tag, MPI_Comm comm, MPI_Status* status) {
  TRACED(1, PMPI_Sendrecv(out, count, dtype, to, tag, in, in_count, in_dtype, from, in_tag, comm, status), comm, dtype,
         count, to, tag);
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  TRACED(2, PMPI_Iprobe(from, tag, comm, flag, status), comm, 0, 0, from, tag);
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype dtype, MPI_Op op, MPI_Comm comm) {
  TRACED(3, PMPI_Allreduce(in, out, count, dtype, op, comm), comm, dtype, count, -1, -1);
}

int MPI_Barrier(MPI_Comm comm) { TRACED(4, PMPI_Barrier(comm), comm, 0, 0, -1, -1); }
