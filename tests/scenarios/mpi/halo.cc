#include "shapes.h"

namespace {

// Rows of ranks with a communicator each, whose borders go round.
void Exchange(Job& job, Host& host, Comm& ring) {
  int right = (ring.rank() + 1) % ring.size(), left = (ring.rank() + ring.size() - 1) % ring.size();
  int count = 120 * job.scale;
  std::vector<MPI_Request> requests;
  for (int field = 0; field < 2; ++field) {
    int tag = 10 * job.step + 2 * field;
    ring.Irecv(count, left, tag, &requests);
    ring.Irecv(count, right, tag + 1, &requests);
    ring.Isend(count, right, tag, &requests);
    ring.Isend(count, left, tag + 1, &requests);
    host.Compute(0.4);
    ring.WaitAll(&requests);
  }
}

}  // namespace

void Halo(Job& job, Comm& world) {
  Host host(job);
  Comm ring(job, world.Split(0, world.rank()), "ring");
  while (job.NextStep()) {
    host.Load();
    Exchange(job, host, ring);
    if (job.Strikes("retry")) job.TellAnywhere("call"), world.AllReduce(1);
    world.AllReduce(1);  // the residual
    host.Compute(0.2);
    if (job.step % 3 == 2) world.Gather(30 * job.scale, 0), ring.Bcast(4, 0);
    if (job.step % 4 == 3) host.WriteCheckpoint(), world.Barrier();
  }
  Evaluate(job, host, world);
}
