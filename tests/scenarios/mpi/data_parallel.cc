#include <algorithm>
#include <memory>

#include "shapes.h"

namespace {

class Trainer {
 public:
  Trainer(Job& job, Comm& world) : job_(job), host_(job), world_(world) {
    // No group has one member only, if there are two ranks: faults come after the same number of calls on all.
    tensor_ = Part("tensor", std::min(world.rank() / 2, std::max(world.size() / 2 - 1, 0)));
    // Only those that "need" it make it: everybody must (W10).
    if (job_.Misled("skip_split"))
      job_.Tell(&world_, "", "call");
    else
      data_ = Part("data", world.size() < 4 ? 0 : world.rank() % 2);
    buckets_ = static_cast<int>(job.Common(2, 5));
  }

  void Run() {
    while (job_.NextStep()) {
      host_.Load();
      Forward();
      // After an out-of-memory in the backward pass the step begins again, on this rank (C7).
      if (job_.Strikes("retry")) job_.TellAnywhere("call"), Forward();
      Backward();
      bool overflow = job_.Has("overflow") && job_.step % 3 == 1;
      if (!overflow) Optimize();
      if (job_.step % 4 == 3) Checkpoint();
      if (job_.Strikes("evaluate")) EvaluateOnFirst();
    }
    Evaluate(job_, host_, world_);
  }

 private:
  std::unique_ptr<Comm> Part(const char* name, int color) {
    return std::make_unique<Comm>(job_, world_.Split(color, world_.rank()), name);
  }

  // Without groups of its own (W10) a rank takes the whole.
  Comm& data() { return data_ ? *data_ : world_; }

  void Forward() {
    for (int layer = 0; layer < 2; ++layer) {
      host_.Compute(0.2);
      tensor_->AllReduce(64 * job_.scale);
    }
  }

  void Backward() {
    bool turned = job_.Strikes("comm_order");
    if (turned) job_.TellAnywhere("order");
    for (int bucket = 0; bucket < buckets_; ++bucket) {
      host_.Compute(0.5 / buckets_);
      if (bucket == 1) turned ? OtherOrder() : OneOrder();
      int count = (200 + 20 * bucket) * job_.scale;
      // Another type of data in the batch fills other buckets (C10).
      if (job_.Strikes("bucket_size")) job_.Tell(&data(), "MPI_Allreduce", "count"), count += 24;
      // A communicator for another one.
      bool wrong = job_.Strikes("other_comm");
      if (wrong) job_.TellAnywhere("comm");
      (wrong ? world_ : data()).AllReduce(count);
    }
  }

  void OneOrder() {
    world_.AllReduce(10);
    tensor_->AllReduce(11);
  }
  [[gnu::noinline]] void OtherOrder() {
    tensor_->AllReduce(11);
    world_.AllReduce(10);
  }

  void Optimize() {
    host_.Compute(0.1);
    if (job_.Strikes("skip_optimizer")) return job_.Tell(&world_, "", "call");
    world_.AllReduce(1, MPI_MAX);
    world_.Bcast(16, 0);
  }

  void Checkpoint() {
    host_.WriteCheckpoint();
    world_.Barrier();
  }

  // By design: rank 0 has more to do, the others wait for it.
  void EvaluateOnFirst() {
    if (world_.rank() == 0) Host::Sleep(2500);
    world_.Barrier();
  }

  Job& job_;
  Host host_;
  Comm& world_;
  std::unique_ptr<Comm> tensor_, data_;
  int buckets_;
};

}  // namespace

void DataParallel(Job& job, Comm& world) { Trainer(job, world).Run(); }

void Evaluate(Job& job, Host& host, Comm& world) {
  host.Compute(0.5);
  world.Gather(8, 0);
  world.Barrier();
  if (job.Has("resize") && job.options.healthy) {
    // Elastic: the last rank leaves, the others go on in a communicator of their own.
    MPI_Comm rest = world.Split(world.rank() + 1 < world.size() ? 0 : MPI_UNDEFINED, world.rank());
    if (rest == MPI_COMM_NULL) return;
    Comm smaller(job, rest, "resized");
    for (int i = 0; i < 5; ++i) host.Compute(0.2), smaller.AllReduce(100 * job.scale);
  }
}
