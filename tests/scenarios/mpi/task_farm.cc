#include "shapes.h"

namespace {

constexpr int kAsk = 1, kWork = 2, kStop = 3;

void GiveOut(Job& job, Comm& world) {
  int tasks = job.options.steps * 5, working = world.size() - 1;
  double word[4] = {};
  while (working > 0) {
    MPI_Status status;
    MPI_Recv(word, 4, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, world.handle(), &status);
    int tag = tasks-- > 0 ? kWork : kStop;
    MPI_Send(word, 4, MPI_DOUBLE, status.MPI_SOURCE, tag, world.handle());
    if (tag == kStop) --working;
  }
}

void Work(Job& job, Host& host, Comm& world) {
  double word[4] = {};
  for (;;) {
    MPI_Send(word, static_cast<int>(job.Random(1, 4)), MPI_DOUBLE, 0, kAsk, world.handle());
    MPI_Status status;
    MPI_Probe(0, MPI_ANY_TAG, world.handle(), &status);
    MPI_Recv(word, 4, MPI_DOUBLE, 0, MPI_ANY_TAG, world.handle(), &status);
    if (status.MPI_TAG == kStop) return;
    host.Compute(job.Random(0.2, 2));
  }
}

}  // namespace

void TaskFarm(Job& job, Comm& world) {
  Host host(job);
  world.rank() == 0 ? GiveOut(job, world) : Work(job, host, world);
  world.Gather(5, 0);
  Evaluate(job, host, world);
}
