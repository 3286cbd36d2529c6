// Healthy: requests of every kind, completed in every way.
#include <mpi.h>
#include <stdio.h>

enum { kMessages = 6 };

struct Neighbours {
  int right, left;
};

static void post(struct Neighbours at, int* out, int* in, MPI_Request* request) {
  for (int i = 0; i < kMessages; ++i) {
    MPI_Irecv(&in[i], 1, MPI_INT, at.left, i, MPI_COMM_WORLD, &request[i]);
    MPI_Isend(&out[i], 1, MPI_INT, at.right, i, MPI_COMM_WORLD, &request[kMessages + i]);
  }
}

static void wait_in_every_way(struct Neighbours at, int* out, int* in) {
  MPI_Request request[2 * kMessages];
  MPI_Status status[2 * kMessages];
  int indices[2 * kMessages], index = 0, done = 0, flag = 0;
  post(at, out, in, request);
  MPI_Waitall(2 * kMessages, request, status);
  post(at, out, in, request);
  MPI_Waitall(2 * kMessages, request, MPI_STATUSES_IGNORE);
  post(at, out, in, request);
  for (int i = 0; i < 2 * kMessages; ++i) MPI_Wait(&request[i], &status[0]);
  post(at, out, in, request);
  for (int i = 0; i < 2 * kMessages; ++i) MPI_Waitany(2 * kMessages, request, &index, &status[0]);
  post(at, out, in, request);
  for (int left = 2 * kMessages; left > 0; left -= done) MPI_Waitsome(2 * kMessages, request, &done, indices, status);
  post(at, out, in, request);
  for (int i = 0; i < 2 * kMessages; ++i) {
    for (flag = 0; !flag;) MPI_Test(&request[i], &flag, MPI_STATUS_IGNORE);
  }
  post(at, out, in, request);
  for (flag = 0; !flag;) MPI_Testall(2 * kMessages, request, &flag, MPI_STATUSES_IGNORE);
  post(at, out, in, request);
  for (int left = 2 * kMessages; left > 0; left -= flag) {
    MPI_Testany(2 * kMessages, request, &index, &flag, MPI_STATUS_IGNORE);
  }
  post(at, out, in, request);
  for (int left = 2 * kMessages; left > 0; left -= done) {
    MPI_Testsome(2 * kMessages, request, &done, indices, MPI_STATUSES_IGNORE);
  }
}

static void receive_from_anyone(int rank, int size) {
  int value = rank;
  if (rank != 0) {
    MPI_Send(&value, 1, MPI_INT, 0, 40 + rank, MPI_COMM_WORLD);
    return;
  }
  for (int i = 1; i < size; ++i)
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void receive_later_from_anyone(int rank, int size) {
  int value = rank;
  MPI_Request request[64];
  int in[64];
  if (rank != 0) {
    MPI_Send(&value, 1, MPI_INT, 0, 50, MPI_COMM_WORLD);
    return;
  }
  for (int i = 1; i < size; ++i) MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, 50, MPI_COMM_WORLD, &request[i - 1]);
  MPI_Waitall(size - 1, request, MPI_STATUSES_IGNORE);
}

static void start_again_and_again(struct Neighbours at, int* out, int* in) {
  MPI_Request request[2];
  MPI_Send_init(out, kMessages, MPI_INT, at.right, 60, MPI_COMM_WORLD, &request[0]);
  MPI_Recv_init(in, kMessages, MPI_INT, at.left, 60, MPI_COMM_WORLD, &request[1]);
  for (int step = 0; step < 5; ++step) {
    MPI_Startall(2, request);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < 2; ++i) MPI_Start(&request[i]);
  for (int i = 0; i < 2; ++i) MPI_Wait(&request[i], MPI_STATUS_IGNORE);
  for (int i = 0; i < 2; ++i) MPI_Request_free(&request[i]);
}

static void probe(struct Neighbours at, int* out, int* in) {
  MPI_Status status;
  MPI_Message message;
  MPI_Request request;
  int flag = 0, count = 0;
  MPI_Isend(out, 3, MPI_INT, at.right, 70, MPI_COMM_WORLD, &request);
  MPI_Probe(at.left, 70, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  MPI_Recv(in, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Isend(out, 2, MPI_INT, at.right, 71, MPI_COMM_WORLD, &request);
  while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, 71, MPI_COMM_WORLD, &flag, &status);
  MPI_Recv(in, 2, MPI_INT, status.MPI_SOURCE, 71, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Isend(out, 2, MPI_INT, at.right, 72, MPI_COMM_WORLD, &request);
  MPI_Mprobe(at.left, 72, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(in, 2, MPI_INT, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void cancel_and_free(struct Neighbours at, int* out, int* in) {
  MPI_Request request[2];
  MPI_Irecv(in, 1, MPI_INT, at.left, 80, MPI_COMM_WORLD, &request[0]);
  MPI_Cancel(&request[0]);
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  MPI_Isend(out, 1, MPI_INT, at.right, 81, MPI_COMM_WORLD, &request[1]);
  MPI_Request_free(&request[1]);
  MPI_Recv(in, 1, MPI_INT, at.left, 81, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(out, 1, MPI_INT, MPI_PROC_NULL, 82, in, 1, MPI_INT, MPI_PROC_NULL, 82, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Waitall(2, (MPI_Request[]){MPI_REQUEST_NULL, MPI_REQUEST_NULL}, MPI_STATUSES_IGNORE);
}

static void overlap_collectives(int* out) {
  MPI_Request request[3];
  int sum = 0, root = 5;
  MPI_Ibarrier(MPI_COMM_WORLD, &request[0]);
  MPI_Ibcast(&root, 1, MPI_INT, 0, MPI_COMM_WORLD, &request[1]);
  MPI_Iallreduce(out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request[2]);
  MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  int rank = 0, size = 1, out[kMessages], in[kMessages] = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  struct Neighbours at = {(rank + 1) % size, (rank + size - 1) % size};
  for (int i = 0; i < kMessages; ++i) out[i] = rank * 100 + i;
  wait_in_every_way(at, out, in);
  receive_from_anyone(rank, size);
  MPI_Barrier(MPI_COMM_WORLD);  // its MPI_ANY_TAG must not meet the next messages
  receive_later_from_anyone(rank, size);
  MPI_Barrier(MPI_COMM_WORLD);
  start_again_and_again(at, out, in);
  probe(at, out, in);
  cancel_and_free(at, out, in);
  overlap_collectives(out);
  printf("rank %d done, last value %d\n", rank, in[0]);
  MPI_Finalize();
  return 0;
}
