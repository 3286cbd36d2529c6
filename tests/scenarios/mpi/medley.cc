#include "shapes.h"

namespace {

// The same call from two lines, by role.
void TwoLines(Comm& world, double* data) {
  if (world.rank() == 0)
    MPI_Bcast(data, 4, MPI_DOUBLE, 0, world.handle());
  else
    MPI_Bcast(data, 4, MPI_DOUBLE, 0, world.handle());
}

void Overlapped(Job& job, Host& host, Comm& world, Comm& other, double* data, double* result) {
  MPI_Request requests[3];
  // Two communicators in two orders is no fault where nothing blocks.
  bool turned = world.rank() % 2;
  Comm &one = turned ? other : world, &two = turned ? world : other;
  MPI_Iallreduce(data, result, 5, MPI_DOUBLE, MPI_SUM, one.handle(), &requests[0]);
  MPI_Iallreduce(data, result + 8, 5, MPI_DOUBLE, MPI_SUM, two.handle(), &requests[1]);
  MPI_Ibarrier(world.handle(), &requests[2]);
  host.Compute(0.3 * job.Random(0.5, 2));
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

void Persistent(Comm& world, double* data, double* result, int turns) {
  int right = (world.rank() + 1) % world.size(), left = (world.rank() + world.size() - 1) % world.size();
  MPI_Request requests[2];
  MPI_Send_init(data, 10, MPI_DOUBLE, right, 5, world.handle(), &requests[0]);
  MPI_Recv_init(result, 10, MPI_DOUBLE, left, 5, world.handle(), &requests[1]);
  for (int i = 0; i < turns; ++i) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

// Each rank gathers for itself once: roots and counts vary by design.
void Rooted(Job& job, Comm& world) {
  for (int root = 0; root < world.size(); ++root) world.Gather((root + 1) * job.scale, root);
  std::vector<int> counts;
  for (int rank = 0; rank < world.size(); ++rank) counts.push_back((rank * 3 + job.step) % 7 + (rank == 0));
  world.AllGatherV(counts);
}

}  // namespace

void Medley(Job& job, Comm& world) {
  Host host(job);
  Comm halves(job, world.Split(world.rank() % 2, world.rank()), "halves");
  static double data[64], result[64];
  while (job.NextStep()) {
    host.Load();
    TwoLines(world, data);
    // One group has more to do than the other.
    for (int i = 0; i < 1 + 2 * (world.rank() % 2); ++i) halves.AllReduce(9 * job.scale);
    Overlapped(job, host, world, halves, data, result);
    Rooted(job, world);
    Persistent(world, data, result, 2);
    MPI_Comm copy;
    MPI_Comm_dup(world.handle(), &copy);
    MPI_Allreduce(data, result, 1, MPI_INT, MPI_MAX, copy);
    MPI_Comm_free(&copy);
  }
  // The tail is the slowest rank's own: the others are in MPI_Finalize meanwhile.
  if (world.rank() == world.size() - 1) host.Compute(3);
}
