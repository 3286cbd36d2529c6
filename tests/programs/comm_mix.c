// Healthy: communicators of every kind, used, freed and made again, so that handles are reused.
#include <mpi.h>
#include <stdio.h>

static int use(MPI_Comm comm) {
  int one = 1, sum = 0;
  if (comm == MPI_COMM_NULL) return 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  MPI_Barrier(comm);
  return sum;
}

static int use_and_free(MPI_Comm* comm) {
  if (*comm == MPI_COMM_NULL) return 0;
  int sum = use(*comm);
  MPI_Comm_free(comm);
  return sum;
}

static int split_rows_and_columns(int rank) {
  MPI_Comm row, column, some;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &column);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &some);
  MPI_Comm_set_name(row, "row");
  return use_and_free(&some) + use_and_free(&row) + use_and_free(&column);
}

static int duplicate(void) {
  MPI_Comm copy, later, of_copy;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_idup(MPI_COMM_WORLD, &later, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_dup(copy, &of_copy);
  int sum = use(copy) + use_and_free(&later);
  MPI_Comm_free(&copy);  // its child lives on
  return sum + use_and_free(&of_copy);
}

static int from_groups(int rank, int size) {
  MPI_Group world, half;
  MPI_Comm all_call, members_call;
  int range[1][3] = {{0, size / 2 - 1, 1}};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, range, &half);
  MPI_Comm_create(MPI_COMM_WORLD, half, &all_call);
  int sum = use_and_free(&all_call);
  if (rank < size / 2) {
    MPI_Comm_create_group(MPI_COMM_WORLD, half, 9, &members_call);
    sum += use_and_free(&members_call);
  }
  MPI_Group_free(&half);
  MPI_Group_free(&world);
  return sum;
}

static int between_groups(int rank, int size) {
  MPI_Comm half, inter, merged;
  int upper = rank >= size / 2;
  MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : size / 2, 11, &inter);
  int sum = use(inter), value = rank;
  MPI_Bcast(&value, 1, MPI_INT, upper ? 0 : (rank == 0 ? MPI_ROOT : MPI_PROC_NULL), inter);
  MPI_Intercomm_merge(inter, upper, &merged);
  sum += use_and_free(&merged) + use_and_free(&half);
  MPI_Comm_free(&inter);
  return sum;
}

// The same two groups under the same tag, again and again: each time another communicator, on which something else comes first.
static int between_groups_again(int rank, int size) {
  MPI_Comm half, inter, part;
  int upper = rank >= size / 2, sum = 0;
  MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &half);
  for (int turn = 0; turn < 4; ++turn) {
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : size / 2, 11, &inter);
    if (turn % 2) MPI_Barrier(inter);
    for (int again = 0; again < 2; ++again) {
      MPI_Comm_split(inter, 0, rank, &part);
      if (again) MPI_Barrier(part);
      sum += use_and_free(&part);
    }
    sum += use_and_free(&inter);
  }
  MPI_Comm_free(&half);
  return sum;
}

static int topologies(int size) {
  MPI_Comm ring, sub, shared;
  int dims[1] = {size}, periods[1] = {1}, remain[1] = {1}, out = 1, in[2];
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
  MPI_Neighbor_allgather(&out, 1, MPI_INT, in, 1, MPI_INT, ring);
  MPI_Cart_sub(ring, remain, &sub);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
  return use_and_free(&sub) + use_and_free(&ring) + use_and_free(&shared);
}

int main(int argc, char** argv) {
  int rank = 0, size = 1, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < 3; ++round) {
    sum += split_rows_and_columns(rank) + duplicate() + from_groups(rank, size);
    sum += between_groups(rank, size) + between_groups_again(rank, size) + topologies(size);
  }
  sum += use(MPI_COMM_SELF);
  printf("rank %d: %d\n", rank, sum);
  MPI_Finalize();
  return 0;
}
