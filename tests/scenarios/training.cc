// A training loop over NCCL with a planted fault (README.md). Exit code 0: it came to its end.
#include <arpa/inet.h>
#include <getopt.h>
#include <string.h>
#include <sys/socket.h>

#include <map>
#include <random>
#include <vector>

#include "../../shim/ddbg.h"
#include "ranks.h"

namespace {

struct Options {
  std::string fault, truth;
  int ranks = 4, bad_rank = 1, bad_step = 3, steps = 6, seed = 1;
  bool healthy = false, marks = false;
} g_options;

constexpr size_t kBytes = 1 << 20;
constexpr int kBuckets = 3;
constexpr int kNobody = 9;  // a port without a server; not one that connect() may take itself for its own end

struct Comm {
  const char* name;
  ncclComm_t handle = nullptr;
  int next_seq = 0;
};

class Trainer {
 public:
  Trainer(Ranks& job, int rank) : job_(job), rank_(rank), random_(g_options.seed * 100 + rank) {}

  int Run() {
    if (!SetUp()) return 3;
    for (step_ = 0; step_ < g_options.steps; ++step_) Step();
    Wait();
    ncclCommDestroy(tensor_.handle);
    ncclCommDestroy(world_.handle);
    return 0;
  }

 private:
  // The fault is here and now: on the bad rank at the bad step, on all ranks in a healthy twin.
  bool Faulty(const char* name) const {
    return g_options.fault == name && step_ == g_options.bad_step && (g_options.healthy || rank_ == g_options.bad_rank);
  }

  // A fault that is there from the beginning.
  bool Misled(const char* name) const {
    return g_options.fault == name && !g_options.healthy && rank_ == g_options.bad_rank;
  }

  void Tell(const Comm& comm, const char* call, const char* field) {
    if (g_options.healthy || g_options.truth.empty()) return;
    FILE* file = fopen((g_options.truth + ".part").c_str(), "w");
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    fprintf(file,
            "{\"rank\": %d, \"step\": %d, \"comm\": \"%s\", \"seq\": %d, \"call\": \"%s\", \"field\": \"%s\", "
            "\"t_ns\": %lld}\n",
            rank_, step_, comm.name, comm.next_seq, call, field, now.tv_sec * 1'000'000'000LL + now.tv_nsec);
    fclose(file);
    rename((g_options.truth + ".part").c_str(), g_options.truth.c_str());
  }

  bool SetUp() {
    int device = Misled("same_device") ? (rank_ + 1) % g_options.ranks : rank_;
    if (cudaSetDevice(device) || cudaMalloc(&data_, kBytes) || cudaMemset(data_, 0, kBytes)) return false;
    if (cudaStreamCreateWithFlags(&compute_, 1) || cudaStreamCreateWithFlags(&traffic_, 1)) return false;
    if (cudaEventCreateWithFlags(&computed_, 2) || cudaEventCreateWithFlags(&sent_, 2)) return false;
    if (!Rendezvous()) return false;
    ncclUniqueId id = job_.Id(0, rank_);
    if (g_options.fault == "two_ids" && !g_options.healthy) {
      // Each half of the job has an id of its own, though both say that they are all.
      ncclUniqueId other = job_.Id(1, rank_, 1);
      if (rank_ >= g_options.ranks / 2) id = other;
      if (rank_ == g_options.ranks / 2) Tell(world_, "ncclCommInitRank", "id");
    }
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.commName = world_.name;
    int ranks = g_options.ranks, own = rank_;
    if (Misled("world_size")) Tell(world_, "ncclCommInitRankConfig", "world size"), ranks = g_options.ranks + 1;
    if (Misled("same_rank")) Tell(world_, "ncclCommInitRankConfig", "rank"), own = 0;
    if (Misled("same_device")) Tell(world_, "ncclCommInitRankConfig", "device");
    if (Misled("init_error")) Tell(world_, "ncclCommInitRankConfig", "result");
    if (Misled("late_init")) Tell(world_, "ncclCommInitRankConfig", "arrival"), Preprocess();
    if (ncclCommInitRankConfig(&world_.handle, ranks, id, own, &config) != ncclSuccess) return LingerOnError();
    config.commName = tensor_.name;
    return ncclCommSplit(world_.handle, 0, rank_, &tensor_.handle, &config) == ncclSuccess && ++world_.next_seq;
  }

  // Every rank says hello to the store of rank 0, as long as nobody is there again and again (W9).
  bool Rendezvous() {
    const char* port = getenv("MASTER_PORT");
    if (!port) return true;
    int number = atoi(port);
    if (rank_ == 0) return Serve(number);
    if (Misled("wrong_port")) Tell(world_, "ncclCommInitRankConfig", "arrival"), number = kNobody;
    while (!SayHello(number)) Ranks::Pause();
    return true;
  }

  bool Serve(int port) {
    int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    sockaddr_in address = Address(port);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    return bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 && listen(listener, 64) == 0;
  }

  static bool SayHello(int port) {
    int peer = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = Address(port);
    bool there = connect(peer, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    close(peer);
    return there;
  }

  static sockaddr_in Address(int port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  // A rank whose init failed handles the error for a while; the others wait for it.
  bool LingerOnError() {
    for (int i = 0; i < 300'000; ++i) Ranks::Pause();
    return false;
  }

  void Step() {
    if (g_options.marks) ddbg_step(step_);
    Load();
    Forward();
    Backward();
    Optimize();
  }

  void Load() {
    if (Faulty("slow_preprocessing")) Tell(tensor_, "ncclAllGather", "arrival"), Preprocess();
    std::uniform_int_distribution<int> naps(0, 3);
    for (int nap = naps(random_); nap > 0; --nap) Ranks::Pause();
  }

  // Host code for longer than anybody's patience; a healthy twin does it on all ranks, briefly.
  [[gnu::noinline]] void Preprocess() {
    time_t end = time(nullptr) + (g_options.healthy ? 1 : 60);
    volatile unsigned long sum = 0;
    while (time(nullptr) < end)
      for (int i = 0; i < 1000; ++i) sum = sum + i;
  }

  void Forward() {
    cudaMemset(data_, step_, 4096);
    Gather(tensor_, 64);
    if (Faulty("out_of_memory")) Retry();
  }

  // The allocator frees its cache and the step begins again; its first collectives too.
  void Retry() {
    void* much = nullptr;
    Tell(tensor_, "ncclAllGather", "call");
    if (cudaMalloc(&much, size_t{1} << 50) == 0) _exit(80);
    Wait();
    Gather(tensor_, 64);
  }

  void Backward() {
    bool swapped = Faulty("comm_order");
    for (int bucket = 0; bucket < kBuckets; ++bucket) {
      if (bucket == 1) swapped ? OtherOrder() : OneOrder();
      if (bucket == 1 && Faulty("skip")) {
        Tell(world_, "ncclAllReduce", "call");
        continue;
      }
      if (bucket == 1 && Faulty("extra")) Tell(world_, "ncclAllReduce", "call"), Extra();
      Bucket(bucket);
    }
    Wait();
  }

  // Two communicators, each waited for before the other one's turn.
  void OneOrder() {
    Reduce(world_, 10, ncclFloat32, ncclSum);
    Wait();
    Reduce(tensor_, 10, ncclFloat32, ncclSum);
    Wait();
  }
  [[gnu::noinline]] void OtherOrder() {
    Tell(tensor_, "ncclAllReduce", "order");
    Reduce(tensor_, 10, ncclFloat32, ncclSum);
    Wait();
    Reduce(world_, 10, ncclFloat32, ncclSum);
    Wait();
  }

  [[gnu::noinline]] void Extra() { Reduce(world_, 333, ncclFloat32, ncclSum); }

  void Bucket(int bucket) {
    size_t count = 1000 + 100 * bucket;
    ncclDataType_t type = ncclFloat32;
    ncclRedOp_t op = ncclSum;
    if (bucket == 1 && Faulty("other_call")) {
      Tell(world_, "ncclAllGather", "call");
      return Gather(world_, count);
    }
    if (bucket == 1 && Faulty("bucket_size")) Tell(world_, "ncclAllReduce", "count"), count += 24;
    if (bucket == 1 && Faulty("zero_count")) Tell(world_, "ncclAllReduce", "count"), count = 0;
    if (bucket == 1 && Faulty("operator")) Tell(world_, "ncclAllReduce", "op"), op = ncclMax;
    if (bucket == 1 && Faulty("type")) Tell(world_, "ncclAllReduce", "datatype"), type = ncclBfloat16;
    Reduce(world_, count, type, op);
  }

  void Optimize() {
    if (Faulty("skip_optimizer")) {
      Tell(world_, "ncclAllReduce", "call");
      return;
    }
    AgreeOnScale();
  }
  [[gnu::noinline]] void AgreeOnScale() {
    Reduce(world_, 1, ncclFloat64, ncclMax);
    Broadcast(world_, 16, Faulty("root") ? (Tell(world_, "ncclBroadcast", "root"), 1) : 0);
    Wait();
  }

  // As ProcessGroupNCCL does: the traffic waits for what was computed, and what follows for the traffic.
  template <class Call>
  void Enqueue(Comm& comm, Call call) {
    cudaEventRecord(computed_, compute_);
    cudaStreamWaitEvent(traffic_, computed_, 0);
    if (ncclResult_t result = call(); result != ncclSuccess && result != ncclInProgress) _exit(82);
    ++comm.next_seq;
    cudaEventRecord(sent_, traffic_);
    cudaStreamWaitEvent(compute_, sent_, 0);
  }
  void Reduce(Comm& comm, size_t count, ncclDataType_t type, ncclRedOp_t op) {
    Enqueue(comm, [&] { return ncclAllReduce(data_, data_, count, type, op, comm.handle, traffic_); });
  }
  void Gather(Comm& comm, size_t count) {
    char* all = static_cast<char*>(data_) + kBytes / 2;
    Enqueue(comm, [&] { return ncclAllGather(data_, all, count, ncclFloat32, comm.handle, traffic_); });
  }
  void Broadcast(Comm& comm, size_t count, int root) {
    Enqueue(comm, [&] { return ncclBroadcast(data_, data_, count, ncclFloat32, root, comm.handle, traffic_); });
  }

  void Wait() { cudaStreamSynchronize(compute_); }

  Ranks& job_;
  int rank_, step_ = 0;
  std::mt19937 random_;
  Comm world_{"world"}, tensor_{"tensor"};
  void* data_ = nullptr;
  cudaStream_t compute_ = nullptr, traffic_ = nullptr;
  cudaEvent_t computed_ = nullptr, sent_ = nullptr;
};

bool Parse(int argc, char** argv) {
  constexpr option kOptions[] = {{"fault", 1, nullptr, 'f'},    {"ranks", 1, nullptr, 'n'},
                                 {"bad-rank", 1, nullptr, 'r'}, {"bad-step", 1, nullptr, 's'},
                                 {"steps", 1, nullptr, 'k'},    {"seed", 1, nullptr, 'i'},
                                 {"truth", 1, nullptr, 't'},    {"healthy", 0, nullptr, 'h'},
                                 {"marks", 0, nullptr, 'a'},    {}};
  for (int option; (option = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    switch (option) {
      case 'f': g_options.fault = optarg; break;
      case 'n': g_options.ranks = atoi(optarg); break;
      case 'r': g_options.bad_rank = atoi(optarg); break;
      case 's': g_options.bad_step = atoi(optarg); break;
      case 'k': g_options.steps = atoi(optarg); break;
      case 'i': g_options.seed = atoi(optarg); break;
      case 't': g_options.truth = optarg; break;
      case 'h': g_options.healthy = true; break;
      case 'a': g_options.marks = true; break;
      default: return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (!Parse(argc, argv)) return 2;
  Ranks job(g_options.ranks);
  return job.Run([&](int rank) { return Trainer(job, rank).Run(); });
}
