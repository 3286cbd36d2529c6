#include <algorithm>

#include "shapes.h"

namespace {

constexpr int kMicroBatches = 4;

class Stage {
 public:
  Stage(Job& job, Comm& world) : job_(job), host_(job), world_(world), rank_(world.rank()), last_(world.size() - 1) {}

  void Run() {
    while (job_.NextStep()) {
      if (rank_ == 0) host_.Load();
      // One forward, one backward: the earlier the stage, the more are on their way.
      int warm_up = std::min(kMicroBatches, last_ - rank_);
      for (int i = 0; i < warm_up; ++i) Forward(i);
      for (int i = 0; i < kMicroBatches; ++i) {
        if (i + warm_up < kMicroBatches) Forward(i + warm_up);
        Backward(i);
      }
      if (!job_.Strikes("skip_optimizer"))
        world_.AllReduce(1, MPI_MAX);
      else
        job_.Tell(&world_, "", "call");
      world_.AllReduce(20 * job_.scale);
      if (job_.step % 4 == 3) host_.WriteCheckpoint(), world_.Barrier();
    }
    Evaluate(job_, host_, world_);
  }

 private:
  int Count() const { return 100 * job_.scale; }
  int Tag(int micro_batch, bool backward) const { return job_.step * 2 * kMicroBatches + 2 * micro_batch + backward; }

  void Forward(int micro_batch) {
    if (rank_ > 0) world_.Recv(Count(), rank_ - 1, Tag(micro_batch, false));
    host_.Compute(0.4 / kMicroBatches);
    // The peer may be about to send back: with a blocking send two large messages would meet.
    if (rank_ < last_) world_.Isend(Count(), rank_ + 1, Tag(micro_batch, false), &sent_);
  }

  void Backward(int micro_batch) {
    if (rank_ < last_) world_.Recv(Count(), rank_ + 1, Tag(micro_batch, true));
    host_.Compute(0.6 / kMicroBatches);
    if (rank_ > 0) world_.Send(Count(), rank_ - 1, Tag(micro_batch, true));
    if (micro_batch == kMicroBatches - 1) world_.WaitAll(&sent_);
  }

  Job& job_;
  Host host_;
  Comm& world_;
  int rank_, last_;
  std::vector<MPI_Request> sent_;
};

}  // namespace

void Pipeline(Job& job, Comm& world) { Stage(job, world).Run(); }
