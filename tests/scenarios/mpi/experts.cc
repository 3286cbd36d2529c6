#include "shapes.h"

namespace {

// How many tokens each rank sends to each: every rank can work out all of them.
int Tokens(const Job& job, int from, int to) { return (7 + (job.step * 13 + from * 5 + to * 11) % 60) * job.scale / 2; }

class Mixture {
 public:
  Mixture(Job& job, Comm& world)
      : job_(job), host_(job), world_(world), experts_(job, world.Split(0, world.rank()), "experts") {}

  void Run() {
    while (job_.NextStep()) {
      host_.Load();
      for (int layer = 0; layer < 2; ++layer) Layer();
      // A batch of other length goes through one layer more (C9).
      if (job_.Strikes("extra_layer")) job_.Tell(&experts_, "MPI_Alltoall", "call"), Layer();
      int count = 150 * job_.scale;
      if (job_.Strikes("bucket_size")) job_.Tell(&world_, "MPI_Allreduce", "count"), count += 24;
      world_.AllReduce(count);
      host_.Compute(0.2);
      if (!job_.Strikes("skip_optimizer"))
        world_.AllReduce(1, MPI_MAX);
      else
        job_.Tell(&world_, "", "call");
      if (job_.step % 4 == 3) world_.Bcast(9, 0), host_.WriteCheckpoint(), world_.Barrier();
    }
    Evaluate(job_, host_, world_);
  }

 private:
  void Layer() {
    host_.Compute(0.2);
    experts_.AllToAll(1);  // the numbers of tokens
    Dispatch(false);
    host_.Compute(0.2);
    Dispatch(true);
  }

  void Dispatch(bool back) {
    std::vector<int> sent, received;
    for (int peer = 0; peer < experts_.size(); ++peer) {
      int there = Tokens(job_, experts_.rank(), peer), here = Tokens(job_, peer, experts_.rank());
      sent.push_back(back ? here : there);
      received.push_back(back ? there : here);
    }
    experts_.AllToAllV(sent, received);
  }

  Job& job_;
  Host host_;
  Comm& world_;
  Comm experts_;
};

}  // namespace

void Experts(Job& job, Comm& world) { Mixture(job, world).Run(); }
