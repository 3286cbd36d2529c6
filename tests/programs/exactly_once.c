// Calls the functions of MPI 3 for messages, collectives and communicators that both MPIs have (but MPI_Abort), and
// counts what it called: --counts PREFIX (counted.h). --thread: MPI_Init_thread instead of MPI_Init.
#include "counted.h"

enum { kMany = 4, kMaxRanks = 16 };

static int rank, size, right, left;
static int out[kMaxRanks * kMany], in[kMaxRanks * kMany];
static int counts[kMaxRanks], starts[kMaxRanks];  // one item to or from each rank
static MPI_Datatype types[kMaxRanks];
static int byte_starts[kMaxRanks];
static MPI_Aint byte_displacements[kMaxRanks];

static void wait_for(MPI_Request* request) { CALL(Wait, request, MPI_STATUS_IGNORE); }

static void blocking_collectives(MPI_Comm comm) {
  CALL(Barrier, comm);
  CALL(Bcast, out, 1, MPI_INT, 0, comm);
  CALL(Gather, out, 1, MPI_INT, in, 1, MPI_INT, 0, comm);
  CALL(Gatherv, out, 1, MPI_INT, in, counts, starts, MPI_INT, 0, comm);
  CALL(Scatter, out, 1, MPI_INT, in, 1, MPI_INT, 0, comm);
  CALL(Scatterv, out, counts, starts, MPI_INT, in, 1, MPI_INT, 0, comm);
  CALL(Allgather, out, 1, MPI_INT, in, 1, MPI_INT, comm);
  CALL(Allgatherv, out, 1, MPI_INT, in, counts, starts, MPI_INT, comm);
  CALL(Alltoall, out, 1, MPI_INT, in, 1, MPI_INT, comm);
  CALL(Alltoallv, out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, comm);
  CALL(Alltoallw, out, counts, byte_starts, types, in, counts, byte_starts, types, comm);
  CALL(Reduce, out, in, 1, MPI_INT, MPI_SUM, 0, comm);
  CALL(Allreduce, out, in, 1, MPI_INT, MPI_SUM, comm);
  CALL(Reduce_scatter, out, in, counts, MPI_INT, MPI_SUM, comm);
  CALL(Reduce_scatter_block, out, in, 1, MPI_INT, MPI_SUM, comm);
  CALL(Scan, out, in, 1, MPI_INT, MPI_SUM, comm);
  CALL(Exscan, out, in, 1, MPI_INT, MPI_SUM, comm);
}

static void nonblocking_collectives(MPI_Comm comm) {
  MPI_Request r;
  CALL(Ibarrier, comm, &r), wait_for(&r);
  CALL(Ibcast, out, 1, MPI_INT, 0, comm, &r), wait_for(&r);
  CALL(Igather, out, 1, MPI_INT, in, 1, MPI_INT, 0, comm, &r), wait_for(&r);
  CALL(Igatherv, out, 1, MPI_INT, in, counts, starts, MPI_INT, 0, comm, &r), wait_for(&r);
  CALL(Iscatter, out, 1, MPI_INT, in, 1, MPI_INT, 0, comm, &r), wait_for(&r);
  CALL(Iscatterv, out, counts, starts, MPI_INT, in, 1, MPI_INT, 0, comm, &r), wait_for(&r);
  CALL(Iallgather, out, 1, MPI_INT, in, 1, MPI_INT, comm, &r), wait_for(&r);
  CALL(Iallgatherv, out, 1, MPI_INT, in, counts, starts, MPI_INT, comm, &r), wait_for(&r);
  CALL(Ialltoall, out, 1, MPI_INT, in, 1, MPI_INT, comm, &r), wait_for(&r);
  CALL(Ialltoallv, out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, comm, &r), wait_for(&r);
  CALL(Ialltoallw, out, counts, byte_starts, types, in, counts, byte_starts, types, comm, &r), wait_for(&r);
  CALL(Ireduce, out, in, 1, MPI_INT, MPI_SUM, 0, comm, &r), wait_for(&r);
  CALL(Iallreduce, out, in, 1, MPI_INT, MPI_SUM, comm, &r), wait_for(&r);
  CALL(Ireduce_scatter, out, in, counts, MPI_INT, MPI_SUM, comm, &r), wait_for(&r);
  CALL(Ireduce_scatter_block, out, in, 1, MPI_INT, MPI_SUM, comm, &r), wait_for(&r);
  CALL(Iscan, out, in, 1, MPI_INT, MPI_SUM, comm, &r), wait_for(&r);
  CALL(Iexscan, out, in, 1, MPI_INT, MPI_SUM, comm, &r), wait_for(&r);
}

static void neighbour_collectives(MPI_Comm ring) {  // two neighbours
  MPI_Request r;
  CALL(Neighbor_allgather, out, 1, MPI_INT, in, 1, MPI_INT, ring);
  CALL(Neighbor_allgatherv, out, 1, MPI_INT, in, counts, starts, MPI_INT, ring);
  CALL(Neighbor_alltoall, out, 1, MPI_INT, in, 1, MPI_INT, ring);
  CALL(Neighbor_alltoallv, out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, ring);
  CALL(Neighbor_alltoallw, out, counts, byte_displacements, types, in, counts, byte_displacements, types, ring);
  CALL(Ineighbor_allgather, out, 1, MPI_INT, in, 1, MPI_INT, ring, &r), wait_for(&r);
  CALL(Ineighbor_allgatherv, out, 1, MPI_INT, in, counts, starts, MPI_INT, ring, &r), wait_for(&r);
  CALL(Ineighbor_alltoall, out, 1, MPI_INT, in, 1, MPI_INT, ring, &r), wait_for(&r);
  CALL(Ineighbor_alltoallv, out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, ring, &r), wait_for(&r);
  CALL(Ineighbor_alltoallw, out, counts, byte_displacements, types, in, counts, byte_displacements, types, ring, &r);
  wait_for(&r);
}

static void receive_first(MPI_Request* r) { CALL(Irecv, in, 1, MPI_INT, left, 5, MPI_COMM_WORLD, r); }

static void sends(void) {
  MPI_Request r, s;
  MPI_Comm comm = MPI_COMM_WORLD;
  receive_first(&r), CALL(Send, out, 1, MPI_INT, right, 5, comm), wait_for(&r);
  receive_first(&r), CALL(Bsend, out, 1, MPI_INT, right, 5, comm), wait_for(&r);
  receive_first(&r), CALL(Ssend, out, 1, MPI_INT, right, 5, comm), wait_for(&r);
  receive_first(&r), CALL(Barrier, comm), CALL(Rsend, out, 1, MPI_INT, right, 5, comm), wait_for(&r);
  receive_first(&r), CALL(Isend, out, 1, MPI_INT, right, 5, comm, &s), wait_for(&s), wait_for(&r);
  receive_first(&r), CALL(Ibsend, out, 1, MPI_INT, right, 5, comm, &s), wait_for(&s), wait_for(&r);
  receive_first(&r), CALL(Issend, out, 1, MPI_INT, right, 5, comm, &s), wait_for(&s), wait_for(&r);
  receive_first(&r), CALL(Barrier, comm), CALL(Irsend, out, 1, MPI_INT, right, 5, comm, &s), wait_for(&s), wait_for(&r);
  CALL(Isend, out, 1, MPI_INT, right, 5, comm, &s), CALL(Recv, in, 1, MPI_INT, left, 5, comm, MPI_STATUS_IGNORE);
  wait_for(&s);
  CALL(Sendrecv, out, 1, MPI_INT, right, 5, in, 1, MPI_INT, left, 5, comm, MPI_STATUS_IGNORE);
  CALL(Sendrecv_replace, out, 1, MPI_INT, right, 5, left, 5, comm, MPI_STATUS_IGNORE);
}

static void probes(void) {
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Request r, s;
  MPI_Message message;
  int flag = 0;
  CALL(Isend, out, 1, MPI_INT, right, 6, comm, &s), CALL(Probe, left, 6, comm, MPI_STATUS_IGNORE);
  CALL(Iprobe, left, 6, comm, &flag, MPI_STATUS_IGNORE);
  CALL(Recv, in, 1, MPI_INT, left, 6, comm, MPI_STATUS_IGNORE), wait_for(&s);
  CALL(Isend, out, 1, MPI_INT, right, 6, comm, &s), CALL(Mprobe, left, 6, comm, &message, MPI_STATUS_IGNORE);
  CALL(Mrecv, in, 1, MPI_INT, &message, MPI_STATUS_IGNORE), wait_for(&s);
  CALL(Isend, out, 1, MPI_INT, right, 6, comm, &s);
  for (flag = 0; !flag;) CALL(Improbe, left, 6, comm, &flag, &message, MPI_STATUS_IGNORE);
  CALL(Imrecv, in, 1, MPI_INT, &message, &r), wait_for(&r), wait_for(&s);
}

static void persistent_requests(void) {
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Request r[2];
  for (int kind = 0; kind < 4; ++kind) {
    CALL(Recv_init, in, 1, MPI_INT, left, 7, comm, &r[0]);
    if (kind == 0) CALL(Send_init, out, 1, MPI_INT, right, 7, comm, &r[1]);
    if (kind == 1) CALL(Bsend_init, out, 1, MPI_INT, right, 7, comm, &r[1]);
    if (kind == 2) CALL(Ssend_init, out, 1, MPI_INT, right, 7, comm, &r[1]);
    if (kind == 3) CALL(Rsend_init, out, 1, MPI_INT, right, 7, comm, &r[1]);
    CALL(Start, &r[0]), CALL(Barrier, comm), CALL(Start, &r[1]), CALL(Waitall, 2, r, MPI_STATUSES_IGNORE);
    if (kind != 3) CALL(Startall, 2, r), CALL(Waitall, 2, r, MPI_STATUSES_IGNORE);
    CALL(Request_free, &r[0]), CALL(Request_free, &r[1]);
  }
}

static void post_many(MPI_Request* r) {
  for (int i = 0; i < kMany; ++i) CALL(Irecv, &in[i], 1, MPI_INT, left, 8, MPI_COMM_WORLD, &r[i]);
  for (int i = 0; i < kMany; ++i) CALL(Send, &out[i], 1, MPI_INT, right, 8, MPI_COMM_WORLD);
}

static void completions(void) {
  MPI_Request r[kMany];
  MPI_Status status[kMany];
  int index = 0, flag = 0, done = 0, indices[kMany];
  post_many(r), CALL(Waitall, kMany, r, status);
  post_many(r);
  for (int i = 0; i < kMany; ++i) CALL(Waitany, kMany, r, &index, MPI_STATUS_IGNORE);
  post_many(r);
  for (int open = kMany; open > 0; open -= done) CALL(Waitsome, kMany, r, &done, indices, status);
  post_many(r);
  for (int i = 0; i < kMany; ++i) {
    for (flag = 0; !flag;) CALL(Test, &r[i], &flag, MPI_STATUS_IGNORE);
  }
  post_many(r);
  for (flag = 0; !flag;) CALL(Testall, kMany, r, &flag, status);
  post_many(r);
  for (int open = kMany; open > 0; open -= flag) CALL(Testany, kMany, r, &index, &flag, MPI_STATUS_IGNORE);
  post_many(r);
  for (int open = kMany; open > 0; open -= done) CALL(Testsome, kMany, r, &done, indices, status);
  CALL(Irecv, in, 1, MPI_INT, left, 9, MPI_COMM_WORLD, &r[0]);
  CALL(Cancel, &r[0]), wait_for(&r[0]);
}

static void free_comm(MPI_Comm* comm) {
  if (*comm != MPI_COMM_NULL) CALL(Comm_free, comm);
}

static void communicators(void) {
  MPI_Comm world = MPI_COMM_WORLD, a, b, c;
  MPI_Request r;
  MPI_Group all;
  MPI_Comm_group(world, &all);
  CALL(Comm_dup, world, &a), CALL(Comm_set_name, a, "copy"), CALL(Comm_disconnect, &a);
  CALL(Comm_dup_with_info, world, MPI_INFO_NULL, &a), free_comm(&a);
  CALL(Comm_idup, world, &a, &r), wait_for(&r), free_comm(&a);
  CALL(Comm_create, world, all, &a), free_comm(&a);
  CALL(Comm_create_group, world, all, 10, &a), free_comm(&a);
  CALL(Comm_split_type, world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &a), free_comm(&a);
  CALL(Comm_split, world, rank % 2, rank, &a);
  CALL(Intercomm_create, a, 0, world, 1 - rank % 2, 11, &b), CALL(Intercomm_merge, b, rank % 2, &c);
  free_comm(&c), free_comm(&b), free_comm(&a);
  MPI_Group_free(&all);
}

static void topologies(void) {
  MPI_Comm world = MPI_COMM_WORLD, a, b;
  int periods[1] = {1}, remain[1] = {1}, ends[kMaxRanks], edges[2 * kMaxRanks], two[2] = {left, right}, degree = 2;
  CALL(Cart_create, world, 1, &size, periods, 0, &a), neighbour_collectives(a);
  CALL(Cart_sub, a, remain, &b), free_comm(&b), free_comm(&a);
  for (int i = 0; i < size; ++i) {
    ends[i] = 2 * (i + 1);
    edges[2 * i] = (i + size - 1) % size;
    edges[2 * i + 1] = (i + 1) % size;
  }
  CALL(Graph_create, world, size, ends, edges, 0, &a), free_comm(&a);
  CALL(Dist_graph_create, world, 1, &rank, &degree, two, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &a), free_comm(&a);
  CALL(Dist_graph_create_adjacent, world, 2, two, MPI_UNWEIGHTED, 2, two, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &a);
  free_comm(&a);
}

static void datatypes(void) {
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  CALL(Type_commit, &pair);
  CALL(Bcast, out, 1, pair, 0, MPI_COMM_WORLD);
  CALL(Type_free, &pair);
}

int main(int argc, char** argv) {
  static char buffer[4096 + 8 * MPI_BSEND_OVERHEAD];
  int level = 0, bytes = 0;
  char* detached = NULL;
  if (HasFlag(argc, argv, "--thread")) {
    CALL(Init_thread, &argc, &argv, MPI_THREAD_FUNNELED, &level);
  } else {
    CALL(Init, &argc, &argv);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > kMaxRanks || size < 2) return 2;
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  for (int i = 0; i < kMaxRanks; ++i) {
    counts[i] = 1;
    starts[i] = i;
    types[i] = MPI_INT;
    byte_starts[i] = i * (int)sizeof(int);
    byte_displacements[i] = byte_starts[i];
  }
  CALL(Buffer_attach, buffer, sizeof buffer);
  blocking_collectives(MPI_COMM_WORLD);
  nonblocking_collectives(MPI_COMM_WORLD);
  sends();
  probes();
  persistent_requests();
  completions();
  communicators();
  topologies();
  datatypes();
  CALL(Buffer_detach, &detached, &bytes);
  CALL(Finalize);
  return write_counts(TextAfter(argc, argv, "--counts", "counts"), rank);
}
