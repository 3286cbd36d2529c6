// A rank of a job over gloo alone: each collective, messages, and a context of some of the ranks.
//   gloo_mix --rank R --size N --store FOLDER --log FILE [--fault NAME --bad-rank R]
// Writes a line for each call that has returned: name, count, bytes of an element, root or peer.
// Faults of the bad rank: count (one allreduce of other size), skip (leaves out a barrier), op (reduces by another function).
#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>
#include <unistd.h>

#include <cstdio>
#include <numeric>
#include <string>

#include "arguments.h"

using Context = std::shared_ptr<gloo::Context>;

static FILE* g_log;
static void Returned(const char* call, size_t count, size_t bytes, int peer) {
  std::fprintf(g_log, "%s %zu %zu %d\n", call, count, bytes, peer);
  std::fflush(g_log);
}

static Context Connect(const std::string& folder, const char* group, int rank, int size) {
  gloo::transport::tcp::attr attributes;
  attributes.hostname = "127.0.0.1";
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  gloo::rendezvous::FileStore files(folder);
  gloo::rendezvous::PrefixStore store(group, files);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  context->connectFullMesh(store, device);
  Returned("connectFullMesh", static_cast<size_t>(size), 0, rank);
  return context;
}

static void Sum(const Context& context, size_t count, bool by_max) {
  std::vector<float> data(count, 1);
  gloo::AllreduceOptions options(context);
  options.setOutput(data.data(), count);
  using Function = void (*)(void*, const void*, const void*, size_t);
  options.setReduceFunction(by_max ? static_cast<Function>(&gloo::max<float>) : static_cast<Function>(&gloo::sum<float>));
  gloo::allreduce(options);
  Returned("allreduce", count, sizeof(float), -1);
}

static void Barrier(const Context& context) {
  gloo::BarrierOptions options(context);
  gloo::barrier(options);
  Returned("barrier", 0, 0, -1);
}

static void Movements(const Context& context, size_t count) {
  size_t size = static_cast<size_t>(context->size);
  std::vector<double> mine(count * size, context->rank), all(count * size);
  {
    gloo::BroadcastOptions options(context);
    options.setOutput(mine.data(), count);
    options.setRoot(1);
    gloo::broadcast(options);
    Returned("broadcast", count, sizeof(double), 1);
  }
  {
    gloo::AllgatherOptions options(context);
    options.setInput(mine.data(), count);
    options.setOutput(all.data(), count * size);
    gloo::allgather(options);
    Returned("allgather", count, sizeof(double), -1);
  }
  {
    gloo::GatherOptions options(context);
    options.setInput(mine.data(), count);
    if (context->rank == 0) options.setOutput(all.data(), count * size);
    options.setRoot(0);
    gloo::gather(options);
    Returned("gather", count, sizeof(double), 0);
  }
  {
    gloo::ScatterOptions options(context);
    std::vector<double*> parts;
    for (size_t i = 0; i < size; ++i) parts.push_back(mine.data() + i * count);
    if (context->rank == 1) options.setInputs(parts, count);
    options.setOutput(all.data(), count);
    options.setRoot(1);
    gloo::scatter(options);
    Returned("scatter", count, sizeof(double), 1);
  }
  {
    gloo::ReduceOptions options(context);
    options.setInput(mine.data(), count);
    options.setOutput(all.data(), count);
    options.setRoot(0);
    options.setReduceFunction(static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<double>));
    gloo::reduce(options);
    Returned("reduce", count, sizeof(double), 0);
  }
  {
    gloo::AlltoallOptions options(context);
    options.setInput(mine.data(), count * size);
    options.setOutput(all.data(), count * size);
    gloo::alltoall(options);
    Returned("alltoall", count * size, sizeof(double), -1);
  }
}

static void Vary(const Context& context) {
  size_t size = static_cast<size_t>(context->size), own = static_cast<size_t>(context->rank) + 1;
  std::vector<size_t> counts(size);
  std::iota(counts.begin(), counts.end(), 1);
  std::vector<char> mine(own), all(size * (size + 1) / 2);
  gloo::AllgathervOptions options(context);
  options.setInput(mine.data(), own);
  options.setOutput(all.data(), counts);
  gloo::allgatherv(options);
  Returned("allgatherv", 0, 1, -1);
  std::vector<int64_t> one(size, 1);
  std::vector<int> from(size), to(size);
  gloo::AlltoallvOptions exchange(context);
  exchange.setInput(from.data(), one);
  exchange.setOutput(to.data(), one);
  gloo::alltoallv(exchange);
  Returned("alltoallv", 0, sizeof(int), -1);
}

// Around the ring, and the last rank receives from anybody.
static void Ring(const Context& context) {
  int right = (context->rank + 1) % context->size, left = (context->rank + context->size - 1) % context->size;
  long out = context->rank, in = -1;
  auto sent = context->createUnboundBuffer(&out, sizeof out);
  auto received = context->createUnboundBuffer(&in, sizeof in);
  sent->send(right, 7);
  Returned("send", sizeof out, 1, right);
  if (context->rank == context->size - 1) {
    received->recv(std::vector<int>{left}, 7);
    Returned("recvAny", sizeof in, 1, -1);
  } else {
    received->recv(left, 7);
    Returned("recv", sizeof in, 1, left);
  }
  sent->waitSend();
  Returned("waitSend", 0, 0, right);
  int source = -1;
  received->waitRecv(&source);
  Returned("waitRecv", 0, 0, left);
}

int main(int argc, char** argv) {
  int rank = NumberAfter(argc, argv, "--rank", 0), size = NumberAfter(argc, argv, "--size", 1);
  std::string folder = TextAfter(argc, argv, "--store", "."), fault = TextAfter(argc, argv, "--fault", "");
  bool bad = rank == NumberAfter(argc, argv, "--bad-rank", -1);
  g_log = std::fopen(TextAfter(argc, argv, "--log", "/dev/null"), "w");
  Context world = Connect(folder, "world", rank, size);
  for (int step = 0; step < 5; ++step) Sum(world, 100, false);
  Movements(world, 10);
  Vary(world);
  Ring(world);
  if (rank < 2) {
    Context pair = Connect(folder, "pair", rank, 2);
    Sum(pair, 50, false);
    Barrier(pair);
  }
  Sum(world, bad && fault == "count" ? 60 : 30, bad && fault == "op");
  if (!(bad && fault == "skip")) Barrier(world);
  Sum(world, 20, false);
  Barrier(world);
  std::fclose(g_log);
  return 0;
}
