// MPI 4's functions for large counts of messages, collectives and buffers, and what it called: --counts PREFIX
// (counted.h).
// --elements N: sends N elements of a type without data, by MPI_Send_c.
#include "counted.h"

#if MPI_VERSION >= 4
enum { kMaxRanks = 16 };

static int rank, size, right, left;
static int out[kMaxRanks], in[kMaxRanks];
static MPI_Count counts[kMaxRanks];
static MPI_Aint starts[kMaxRanks], byte_starts[kMaxRanks];
static MPI_Datatype types[kMaxRanks];
static const MPI_Comm world = MPI_COMM_WORLD;

static void wait_for(MPI_Request* request) { CALL(Wait, request, MPI_STATUS_IGNORE); }

static void collectives(void) {
  CALL(Bcast_c, out, 1, MPI_INT, 0, world);
  CALL(Gather_c, out, 1, MPI_INT, in, 1, MPI_INT, 0, world);
  CALL(Gatherv_c, out, 1, MPI_INT, in, counts, starts, MPI_INT, 0, world);
  CALL(Scatter_c, out, 1, MPI_INT, in, 1, MPI_INT, 0, world);
  CALL(Scatterv_c, out, counts, starts, MPI_INT, in, 1, MPI_INT, 0, world);
  CALL(Allgather_c, out, 1, MPI_INT, in, 1, MPI_INT, world);
  CALL(Allgatherv_c, out, 1, MPI_INT, in, counts, starts, MPI_INT, world);
  CALL(Alltoall_c, out, 1, MPI_INT, in, 1, MPI_INT, world);
  CALL(Alltoallv_c, out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, world);
  CALL(Alltoallw_c, out, counts, byte_starts, types, in, counts, byte_starts, types, world);
  CALL(Reduce_c, out, in, 1, MPI_INT, MPI_SUM, 0, world);
  // The two are one operation: members may call either.
  if (rank % 2)
    CALL(Allreduce_c, out, in, 1, MPI_INT, MPI_SUM, world);
  else
    CALL(Allreduce, out, in, 1, MPI_INT, MPI_SUM, world);
  CALL(Allreduce_c, out, in, 1, MPI_INT, MPI_SUM, world);
  CALL(Reduce_scatter_c, out, in, counts, MPI_INT, MPI_SUM, world);
  CALL(Reduce_scatter_block_c, out, in, 1, MPI_INT, MPI_SUM, world);
  CALL(Scan_c, out, in, 1, MPI_INT, MPI_SUM, world);
  CALL(Exscan_c, out, in, 1, MPI_INT, MPI_SUM, world);
}

static void nonblocking(void) {
  MPI_Request r;
  CALL(Ibcast_c, out, 1, MPI_INT, 0, world, &r), wait_for(&r);
  CALL(Igather_c, out, 1, MPI_INT, in, 1, MPI_INT, 0, world, &r), wait_for(&r);
  CALL(Igatherv_c, out, 1, MPI_INT, in, counts, starts, MPI_INT, 0, world, &r), wait_for(&r);
  CALL(Iscatter_c, out, 1, MPI_INT, in, 1, MPI_INT, 0, world, &r), wait_for(&r);
  CALL(Iscatterv_c, out, counts, starts, MPI_INT, in, 1, MPI_INT, 0, world, &r), wait_for(&r);
  CALL(Iallgather_c, out, 1, MPI_INT, in, 1, MPI_INT, world, &r), wait_for(&r);
  CALL(Iallgatherv_c, out, 1, MPI_INT, in, counts, starts, MPI_INT, world, &r), wait_for(&r);
  CALL(Ialltoall_c, out, 1, MPI_INT, in, 1, MPI_INT, world, &r), wait_for(&r);
  CALL(Ialltoallv_c, out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, world, &r), wait_for(&r);
  CALL(Ialltoallw_c, out, counts, byte_starts, types, in, counts, byte_starts, types, world, &r), wait_for(&r);
  CALL(Ireduce_c, out, in, 1, MPI_INT, MPI_SUM, 0, world, &r), wait_for(&r);
  CALL(Iallreduce_c, out, in, 1, MPI_INT, MPI_SUM, world, &r), wait_for(&r);
  CALL(Ireduce_scatter_c, out, in, counts, MPI_INT, MPI_SUM, world, &r), wait_for(&r);
  CALL(Ireduce_scatter_block_c, out, in, 1, MPI_INT, MPI_SUM, world, &r), wait_for(&r);
  CALL(Iscan_c, out, in, 1, MPI_INT, MPI_SUM, world, &r), wait_for(&r);
  CALL(Iexscan_c, out, in, 1, MPI_INT, MPI_SUM, world, &r), wait_for(&r);
}

static void neighbours(void) {
  MPI_Request r;
  MPI_Comm ring;
  int periods[1] = {1};
  CALL(Cart_create, world, 1, &size, periods, 0, &ring);
  CALL(Neighbor_allgather_c, out, 1, MPI_INT, in, 1, MPI_INT, ring);
  CALL(Neighbor_allgatherv_c, out, 1, MPI_INT, in, counts, starts, MPI_INT, ring);
  CALL(Neighbor_alltoall_c, out, 1, MPI_INT, in, 1, MPI_INT, ring);
  CALL(Neighbor_alltoallv_c, out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, ring);
  CALL(Neighbor_alltoallw_c, out, counts, byte_starts, types, in, counts, byte_starts, types, ring);
  CALL(Ineighbor_allgather_c, out, 1, MPI_INT, in, 1, MPI_INT, ring, &r), wait_for(&r);
  CALL(Ineighbor_allgatherv_c, out, 1, MPI_INT, in, counts, starts, MPI_INT, ring, &r), wait_for(&r);
  CALL(Ineighbor_alltoall_c, out, 1, MPI_INT, in, 1, MPI_INT, ring, &r), wait_for(&r);
  CALL(Ineighbor_alltoallv_c, out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, ring, &r), wait_for(&r);
  CALL(Ineighbor_alltoallw_c, out, counts, byte_starts, types, in, counts, byte_starts, types, ring, &r), wait_for(&r);
  CALL(Comm_free, &ring);
}

static void receive_first(MPI_Request* r) { CALL(Irecv_c, in, 1, MPI_INT, left, 5, world, r); }

static void messages(void) {
  MPI_Request r, s;
  MPI_Message message;
  receive_first(&r), CALL(Send_c, out, 1, MPI_INT, right, 5, world), wait_for(&r);
  receive_first(&r), CALL(Bsend_c, out, 1, MPI_INT, right, 5, world), wait_for(&r);
  receive_first(&r), CALL(Ssend_c, out, 1, MPI_INT, right, 5, world), wait_for(&r);
  receive_first(&r), CALL(Barrier, world), CALL(Rsend_c, out, 1, MPI_INT, right, 5, world), wait_for(&r);
  receive_first(&r), CALL(Isend_c, out, 1, MPI_INT, right, 5, world, &s), wait_for(&s), wait_for(&r);
  receive_first(&r), CALL(Ibsend_c, out, 1, MPI_INT, right, 5, world, &s), wait_for(&s), wait_for(&r);
  receive_first(&r), CALL(Issend_c, out, 1, MPI_INT, right, 5, world, &s), wait_for(&s), wait_for(&r);
  receive_first(&r), CALL(Barrier, world), CALL(Irsend_c, out, 1, MPI_INT, right, 5, world, &s), wait_for(&s);
  wait_for(&r);
  CALL(Isend_c, out, 1, MPI_INT, right, 5, world, &s), CALL(Recv_c, in, 1, MPI_INT, left, 5, world, MPI_STATUS_IGNORE);
  wait_for(&s);
  CALL(Sendrecv_c, out, 1, MPI_INT, right, 5, in, 1, MPI_INT, left, 5, world, MPI_STATUS_IGNORE);
  CALL(Sendrecv_replace_c, out, 1, MPI_INT, right, 5, left, 5, world, MPI_STATUS_IGNORE);
  CALL(Isend_c, out, 1, MPI_INT, right, 6, world, &s), CALL(Mprobe, left, 6, world, &message, MPI_STATUS_IGNORE);
  CALL(Mrecv_c, in, 1, MPI_INT, &message, MPI_STATUS_IGNORE), wait_for(&s);
  CALL(Isend_c, out, 1, MPI_INT, right, 6, world, &s), CALL(Mprobe, left, 6, world, &message, MPI_STATUS_IGNORE);
  CALL(Imrecv_c, in, 1, MPI_INT, &message, &r), wait_for(&r), wait_for(&s);
}

static void persistent(void) {
  MPI_Request r[2];
  for (int kind = 0; kind < 4; ++kind) {
    CALL(Recv_init_c, in, 1, MPI_INT, left, 7, world, &r[0]);
    if (kind == 0) CALL(Send_init_c, out, 1, MPI_INT, right, 7, world, &r[1]);
    if (kind == 1) CALL(Bsend_init_c, out, 1, MPI_INT, right, 7, world, &r[1]);
    if (kind == 2) CALL(Ssend_init_c, out, 1, MPI_INT, right, 7, world, &r[1]);
    if (kind == 3) CALL(Rsend_init_c, out, 1, MPI_INT, right, 7, world, &r[1]);
    CALL(Start, &r[0]), CALL(Barrier, world), CALL(Start, &r[1]);
    wait_for(&r[0]), wait_for(&r[1]);
    CALL(Request_free, &r[0]), CALL(Request_free, &r[1]);
  }
}

static void without_data(MPI_Count elements) {
  MPI_Datatype nothing;
  MPI_Request r;
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  CALL(Type_commit, &nothing);
  CALL(Irecv_c, in, elements, nothing, left, 8, world, &r);
  CALL(Send_c, out, elements, nothing, right, 8, world), wait_for(&r);
  CALL(Type_free, &nothing);
}

int main(int argc, char** argv) {
  static char buffer[4096 + 8 * MPI_BSEND_OVERHEAD];
  char* detached = NULL;
  MPI_Count bytes = 0;
  CALL(Init, &argc, &argv);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  for (int i = 0; i < kMaxRanks; ++i) {
    counts[i] = 1;
    starts[i] = i;
    byte_starts[i] = i * (MPI_Aint)sizeof(int);
    types[i] = MPI_INT;
  }
  CALL(Buffer_attach_c, buffer, sizeof buffer);
  collectives();
  nonblocking();
  neighbours();
  messages();
  persistent();
  without_data(atoll(TextAfter(argc, argv, "--elements", "1")));
  CALL(Buffer_detach_c, &detached, &bytes);
  CALL(Finalize);
  return write_counts(TextAfter(argc, argv, "--counts", "counts"), rank);
}
#else
int main(void) { return 0; }
#endif
