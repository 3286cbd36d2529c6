#include "shapes.h"

void LocalSgd(Job& job, Comm& world) {
  Host host(job);
  int blocks = static_cast<int>(job.Common(2, 6));
  while (job.NextStep()) {
    for (int turn = 0; turn < 4; ++turn) host.Load(), host.Compute(0.25);
    for (int block = 0; block < blocks; ++block) world.AllReduce(300 * job.scale);
    if (job.Strikes("retry")) job.TellAnywhere("call"), world.AllReduce(300 * job.scale);
    if (!job.Strikes("skip_optimizer"))
      world.AllReduce(1, MPI_MAX);
    else
      job.Tell(&world, "", "call");
    if (job.step % 3 == 2) world.Reduce(12, 0), world.Bcast(40 * job.scale, 0);
    if (job.step % 4 == 3) host.WriteCheckpoint(), world.Barrier();
  }
  Evaluate(job, host, world);
}
