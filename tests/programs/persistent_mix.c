// Persistent collectives, partitioned messages and the requests that MPI 4 brought, and what it called: --counts PREFIX
// (counted.h). --skip-start RANK: that rank does not start the last instance of the persistent Allreduce.
#include "counted.h"

enum { kMaxRanks = 16, kParts = 4 };

static int rank, size, right, left;
static int out[kMaxRanks * kParts], in[kMaxRanks * kParts];
static int counts[kMaxRanks], starts[kMaxRanks], byte_starts[kMaxRanks];
static MPI_Datatype types[kMaxRanks];
static MPI_Aint displacements[kMaxRanks];

static void asked(void) {
  MPI_Request r[2];
  MPI_Status status[2];
  int flag = 0;
  (void)status;
  CALL(Irecv, in, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &r[0]);
  CALL(Isend, out, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &r[1]);
  while (!flag) CALL(Request_get_status, r[0], &flag, MPI_STATUS_IGNORE);
  CALL(Waitall, 2, r, MPI_STATUSES_IGNORE);
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  int index = 0, done = 0, indices[2];
  CALL(Irecv, in, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &r[0]);
  CALL(Isend, out, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &r[1]);
  for (flag = 0; !flag;) CALL(Request_get_status_any, 2, r, &index, &flag, MPI_STATUS_IGNORE);
  for (; done == 0;) CALL(Request_get_status_some, 2, r, &done, indices, status);
  for (flag = 0; !flag;) CALL(Request_get_status_all, 2, r, &flag, status);
  CALL(Waitall, 2, r, MPI_STATUSES_IGNORE);
#endif
}

static int query(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
static int release(void* state) { return state ? MPI_ERR_OTHER : MPI_SUCCESS; }
static int cancel(void* state, int complete) { return state || !complete ? MPI_ERR_OTHER : MPI_SUCCESS; }

static void general_request(void) {
  MPI_Request r;
  CALL(Grequest_start, query, release, cancel, NULL, &r);
  CALL(Grequest_complete, r), CALL(Wait, &r, MPI_STATUS_IGNORE);
}

static void operators(void) {
  MPI_Op op;
  CALL(Op_create, (MPI_User_function*)abort, 1, &op), CALL(Op_free, &op);
#if MPI_VERSION >= 4
  CALL(Op_create_c, (MPI_User_function_c*)abort, 1, &op), CALL(Op_free, &op);
#endif
}

#if MPI_VERSION >= 4
// Twice: by MPI_Start and as one of MPI_Startall's.
static void use(MPI_Request* r) {
  CALL(Start, r), CALL(Wait, r, MPI_STATUS_IGNORE);
  CALL(Startall, 1, r), CALL(Wait, r, MPI_STATUS_IGNORE);
  CALL(Request_free, r);
}

#define USE(name, ...) (CALL(name, __VA_ARGS__, MPI_INFO_NULL, &r), use(&r))

// MPICH 4.0 fails in the second instance of a persistent MPI_Scatter.
static void use_once(MPI_Request* r) { CALL(Start, r), CALL(Wait, r, MPI_STATUS_IGNORE), CALL(Request_free, r); }

static void persistent_collectives(MPI_Comm comm) {
  MPI_Request r;
  USE(Barrier_init, comm);
  USE(Bcast_init, out, 1, MPI_INT, 0, comm);
  USE(Bcast_init_c, out, 1, MPI_INT, 0, comm);
  USE(Gather_init, out, 1, MPI_INT, in, 1, MPI_INT, 0, comm);
  USE(Gather_init_c, out, 1, MPI_INT, in, 1, MPI_INT, 0, comm);
  USE(Gatherv_init, out, 1, MPI_INT, in, counts, starts, MPI_INT, 0, comm);
  CALL(Scatter_init, out, 1, MPI_INT, in, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &r), use_once(&r);
  CALL(Scatter_init_c, out, 1, MPI_INT, in, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &r), use_once(&r);
  USE(Scatterv_init, out, counts, starts, MPI_INT, in, 1, MPI_INT, 0, comm);
  USE(Allgather_init, out, 1, MPI_INT, in, 1, MPI_INT, comm);
  USE(Allgather_init_c, out, 1, MPI_INT, in, 1, MPI_INT, comm);
  USE(Allgatherv_init, out, 1, MPI_INT, in, counts, starts, MPI_INT, comm);
  USE(Alltoall_init, out, 1, MPI_INT, in, 1, MPI_INT, comm);
  USE(Alltoall_init_c, out, 1, MPI_INT, in, 1, MPI_INT, comm);
  USE(Alltoallv_init, out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, comm);
  USE(Alltoallw_init, out, counts, byte_starts, types, in, counts, byte_starts, types, comm);
  USE(Reduce_init, out, in, 1, MPI_INT, MPI_SUM, 0, comm);
  USE(Reduce_init_c, out, in, 1, MPI_INT, MPI_SUM, 0, comm);
  USE(Allreduce_init, out, in, 1, MPI_INT, MPI_SUM, comm);
  USE(Allreduce_init_c, out, in, 1, MPI_INT, MPI_SUM, comm);
  USE(Reduce_scatter_init, out, in, counts, MPI_INT, MPI_SUM, comm);
  USE(Reduce_scatter_block_init, out, in, 1, MPI_INT, MPI_SUM, comm);
  USE(Reduce_scatter_block_init_c, out, in, 1, MPI_INT, MPI_SUM, comm);
  USE(Scan_init, out, in, 1, MPI_INT, MPI_SUM, comm);
  USE(Scan_init_c, out, in, 1, MPI_INT, MPI_SUM, comm);
  USE(Exscan_init, out, in, 1, MPI_INT, MPI_SUM, comm);
  USE(Exscan_init_c, out, in, 1, MPI_INT, MPI_SUM, comm);
}

// With the arrays of the functions for large counts.
static void persistent_large(MPI_Comm comm, MPI_Comm ring) {
  MPI_Request r;
  MPI_Count many[kMaxRanks];
  MPI_Aint at[kMaxRanks], bytes[kMaxRanks];
  for (int i = 0; i < kMaxRanks; ++i) many[i] = 1, at[i] = i, bytes[i] = i * (MPI_Aint)sizeof(int);
  USE(Gatherv_init_c, out, 1, MPI_INT, in, many, at, MPI_INT, 0, comm);
  USE(Scatterv_init_c, out, many, at, MPI_INT, in, 1, MPI_INT, 0, comm);
  USE(Allgatherv_init_c, out, 1, MPI_INT, in, many, at, MPI_INT, comm);
  USE(Alltoallv_init_c, out, many, at, MPI_INT, in, many, at, MPI_INT, comm);
  USE(Alltoallw_init_c, out, many, bytes, types, in, many, bytes, types, comm);
  USE(Reduce_scatter_init_c, out, in, many, MPI_INT, MPI_SUM, comm);
  USE(Neighbor_allgatherv_init_c, out, 1, MPI_INT, in, many, at, MPI_INT, ring);
  USE(Neighbor_alltoallv_init_c, out, many, at, MPI_INT, in, many, at, MPI_INT, ring);
  USE(Neighbor_alltoallw_init_c, out, many, bytes, types, in, many, bytes, types, ring);
}

static void persistent_neighbours(MPI_Comm ring) {
  MPI_Request r;
  USE(Neighbor_allgather_init, out, 1, MPI_INT, in, 1, MPI_INT, ring);
  USE(Neighbor_allgather_init_c, out, 1, MPI_INT, in, 1, MPI_INT, ring);
  USE(Neighbor_allgatherv_init, out, 1, MPI_INT, in, counts, starts, MPI_INT, ring);
  USE(Neighbor_alltoall_init, out, 1, MPI_INT, in, 1, MPI_INT, ring);
  USE(Neighbor_alltoall_init_c, out, 1, MPI_INT, in, 1, MPI_INT, ring);
  USE(Neighbor_alltoallv_init, out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, ring);
  USE(Neighbor_alltoallw_init, out, counts, displacements, types, in, counts, displacements, types, ring);
}

static void partitioned(void) {
  MPI_Request r[2];
  int flag = 0, list[1] = {3};
  CALL(Precv_init, in, kParts, 2, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
  CALL(Psend_init, out, kParts, 2, MPI_INT, right, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
  for (int i = 0; i < 2; ++i) {
    CALL(Startall, 2, r);
    CALL(Pready, 0, r[1]), CALL(Pready_range, 1, 2, r[1]), CALL(Pready_list, 1, list, r[1]);
    for (flag = 0; !flag;) CALL(Parrived, r[0], 0, &flag);
    CALL(Waitall, 2, r, MPI_STATUSES_IGNORE);
  }
  CALL(Request_free, &r[0]), CALL(Request_free, &r[1]);
}

static void exchanges(void) {
  MPI_Request r;
  MPI_Comm world = MPI_COMM_WORLD, copy;
  CALL(Isendrecv, out, 1, MPI_INT, right, 5, in, 1, MPI_INT, left, 5, world, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Isendrecv, out, 1, MPI_INT, right, 5, in, 1, MPI_INT, MPI_ANY_SOURCE, 5, world, &r);
  CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Isendrecv_replace, out, 1, MPI_INT, right, 6, left, 6, world, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Isendrecv_c, out, 1, MPI_INT, right, 5, in, 1, MPI_INT, left, 5, world, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Isendrecv_replace_c, out, 1, MPI_INT, right, 6, left, 6, world, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Comm_idup_with_info, world, MPI_INFO_NULL, &copy, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Comm_free, &copy);
}

static void last_start(int skip) {
  MPI_Request r;
  CALL(Allreduce_init, out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
  for (int i = 0; i < 3; ++i) {
    if (skip && i == 2) continue;
    CALL(Start, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  }
  CALL(Request_free, &r);
}
#endif

int main(int argc, char** argv) {
  CALL(Init, &argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  for (int i = 0; i < kMaxRanks; ++i) {
    counts[i] = 1;
    starts[i] = i;
    types[i] = MPI_INT;
    byte_starts[i] = i * (int)sizeof(int);
    displacements[i] = byte_starts[i];
  }
  asked();
  general_request();
  operators();
#if MPI_VERSION >= 4
  MPI_Comm ring;
  int periods[1] = {1};
  CALL(Cart_create, MPI_COMM_WORLD, 1, &size, periods, 0, &ring);
  persistent_collectives(MPI_COMM_WORLD);
  persistent_neighbours(ring);
  persistent_large(MPI_COMM_WORLD, ring);
  partitioned();
  exchanges();
  last_start(rank == NumberAfter(argc, argv, "--skip-start", -1));
  CALL(Comm_free, &ring);
#endif
  CALL(Barrier, MPI_COMM_WORLD);
  CALL(Finalize);
  return write_counts(TextAfter(argc, argv, "--counts", "counts"), rank);
}
