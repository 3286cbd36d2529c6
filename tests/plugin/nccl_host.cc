#include "tests/plugin/nccl_host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "shim/nccl/plugin/abi.h"

namespace {

using namespace ddbg::shim::nccl::plugin;

constexpr int kChannels = 3;
constexpr int32_t kGroupStartApiStop = 23, kGroupEndApiStart = 24, kProxyOpInProgress = 19, kStepSendWait = 9;

int64_t MonotonicNs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}
// 30 ppm fast, and of another epoch.
uint64_t DeviceNs(int64_t host) { return static_cast<uint64_t>(host + host / 33'333 + 1'700'000'000'000'000'000); }

// Whatever the version, with the newest one's descriptor: NCCL converts likewise.
struct Plugin {
  int version = 0;
  const char* name = "";
  const void* functions = nullptr;
  int32_t mask = 0;
};
Plugin g_plugin;
bool g_searched = false, g_leave_open = false;
void* g_library = nullptr;

template <int V>
const VersionOf<V>& Functions() {
  return *static_cast<const VersionOf<V>*>(g_plugin.functions);
}

template <class F>
auto Visit(F f) {
  switch (g_plugin.version) {
    case 1: return f(Functions<1>());
    case 2: return f(Functions<2>());
    case 3: return f(Functions<3>());
    case 4: return f(Functions<4>());
    case 5: return f(Functions<5>());
    default: return f(Functions<6>());
  }
}

void Search() {
  if (g_searched) return;
  g_searched = true;
  const char* named = getenv("NCCL_PROFILER_PLUGIN");
  if (named && strcasecmp(named, "none") == 0) return;
  char path[255];
  snprintf(path, sizeof(path), "%s", named && *named ? named : "libnccl-profiler.so");
  bool is_static = strncasecmp(path, "STATIC_PLUGIN", strlen(path)) == 0;
  g_library = dlopen(is_static ? nullptr : path, RTLD_NOW | RTLD_LOCAL);
  const char* highest = getenv("DOUBLE_VERSION");
  for (int version = highest ? atoi(highest) : 7; g_library && version >= 1 && !g_plugin.functions; --version) {
    std::string name = "ncclProfiler_v" + std::to_string(version);
    g_plugin.functions = dlsym(g_library, name.c_str());
    g_plugin.version = version;
  }
  if (g_plugin.functions) g_plugin.name = Visit([](auto& f) { return f.name; });
  printf("plugin %s version %d\n", g_plugin.name, g_plugin.functions ? g_plugin.version : 0);
}

bool Wants(int32_t mask) { return g_plugin.functions && (__atomic_load_n(&g_plugin.mask, __ATOMIC_RELAXED) & mask); }

struct Op {
  bool is_p2p;
  const char* func;
  int func_number;
  void* buff;
  size_t count;
  int root;
  void* api = nullptr;
  void* event = nullptr;
};

struct Channel {  // for the proxy thread
  void* task;
  int channel;
  int64_t begin, end;  // host ns
  bool last;
};

}  // namespace

struct ncclComm {
  void* context = nullptr;
  uint64_t hash = 0, seq = 0;
  std::atomic<bool> ending{false};
  std::atomic<int> queued{0};
  std::atomic_flag lock = ATOMIC_FLAG_INIT;
  std::deque<Channel> work;
  std::thread proxy;
  std::vector<Op> last;
};

namespace {

thread_local int t_depth = 0;
thread_local void* t_group_api = nullptr;
thread_local std::vector<std::pair<ncclComm*, Op>> t_group;

template <class Fill>
void Start(ncclComm* comm, void** handle, uint32_t type, void* parent, Fill fill) {
  Visit([&](auto& f) {
    using D = typename std::remove_cvref_t<decltype(f)>::Descriptor;
    D d;
    memset(static_cast<void*>(&d), 0, sizeof(d));
    d.type = static_cast<decltype(d.type)>(type);
    d.parent = parent;
    fill(d);
    f.start(comm->context, handle, &d);
  });
}
void Stop(void* handle) {
  if (!g_leave_open) Visit([&](auto& f) { f.stop(handle); });
}
void Record(void* handle, int32_t state, void* arguments) {
  Visit([&](auto& f) { f.record(handle, state, arguments); });
}

void StartGroupApi(ncclComm* comm) {
  if (g_plugin.version < 5 || t_group_api || !Wants(0x7fff & ~kProxyCtrl)) return;
  Start(comm, &t_group_api, kGroupApi, nullptr, [](auto& d) {
    if constexpr (requires { d.group_api; }) d.group_api.depth = t_depth;
  });
  if (t_group_api) Record(t_group_api, kGroupStartApiStop, nullptr);
}

void StartApi(ncclComm* comm, Op& op) {
  uint32_t type = op.is_p2p ? kP2pApi : kCollApi;
  int32_t below = kProxyOp | kProxyStep | kKernelCh | kNetPlugin | (op.is_p2p ? kP2pApi | kP2p : kCollApi | kColl);
  if (g_plugin.version < 5 || !Wants(below)) return;
  Start(comm, &op.api, type, t_group_api, [&](auto& d) {
    if constexpr (requires { d.coll_api; }) {
      if (op.is_p2p)
        d.p2p_api = {op.func, op.count, "ncclFloat32", nullptr, false};
      else
        d.coll_api = {op.func, op.count, "ncclFloat32", op.root, nullptr, false};
    }
  });
  if (op.api) Stop(op.api);  // the handle stays the task's parent
}

template <class Coll>
void FillColl(Coll& c, const ncclComm* comm, const Op& op, void* group) {
  c.seq_number = comm->seq;
  c.count = op.count;
  c.root = op.root;
  c.recv_buff = op.buff;
  c.channels = kChannels;
  c.warps = 16;
  if constexpr (requires { c.op; }) {
    c.func = static_cast<uint8_t>(op.func_number);
    c.datatype = 7;
    c.algo = 1;
    c.proto = 1;
  } else {
    c.func = op.func;
    c.datatype = "ncclFloat32";
    c.algo = "RING";
    c.proto = "LL128";
  }
  if constexpr (requires { c.parent_group; }) c.parent_group = group;
  if constexpr (requires { c.comm_hash; }) c.comm_hash = comm->hash;
}

template <class P2p>
void FillP2p(P2p& p, const Op& op, void* group) {
  p.count = op.count;
  p.peer = op.root;
  p.buff = op.buff;
  if constexpr (sizeof(p.datatype) == 1) {
    p.func = static_cast<uint8_t>(op.func_number);
    p.datatype = 7;
  } else {
    p.func = op.func;
    p.datatype = "ncclFloat32";
  }
  if constexpr (requires { p.channels; }) p.channels = kChannels;
  if constexpr (requires { p.parent_group; }) p.parent_group = group;
}

void StartTask(ncclComm* comm, Op& op, void* group) {
  int32_t below = kProxyOp | kProxyStep | kKernelCh | kNetPlugin | (op.is_p2p ? kP2p : kColl);
  op.event = nullptr;
  if (!Wants(below) || (g_plugin.version < 5 && !group)) return;
  Start(comm, &op.event, op.is_p2p ? kP2p : kColl, g_plugin.version >= 5 ? op.api : group, [&](auto& d) {
    if (op.is_p2p)
      FillP2p(d.p2p, op, group);
    else
      FillColl(d.coll, comm, op, group);
  });
}

// What NCCL does after the launch (hostStreamPlanTask), on the calling thread or, of a graph, on CUDA's.
void RunPlan(ncclComm* comm, std::vector<Op>& ops) {
  if (!g_plugin.functions) return;
  void* group = nullptr;
  int64_t now = MonotonicNs();
  if (Wants(kGroup | kColl | kP2p | kProxyOp | kProxyStep | kKernelCh | kNetPlugin))
    Start(comm, &group, kGroup, nullptr, [](auto&) {});
  for (Op& op : ops) {
    StartTask(comm, op, group);
    if (!op.is_p2p) ++comm->seq;
  }
  for (Op& op : ops) {
    while (comm->lock.test_and_set()) {
    }
    for (int channel = 0; channel < kChannels; ++channel) {
      comm->work.push_back({op.event, channel, now + 20'000 + channel * 1'000, now + 200'000 + channel * 3'000,
                            channel + 1 == kChannels});
      ++comm->queued;
    }
    comm->lock.clear();
    printf("device %s %lld %lld\n", op.func, static_cast<long long>(now + 20'000),
           static_cast<long long>(now + 200'000 + (kChannels - 1) * 3'000));
  }
  for (Op& op : ops)
    if (op.event) Stop(op.event);
  if (group) Stop(group);
}

// One channel: a proxy operation with one step, and the kernel's channel.
void Progress(ncclComm* comm, const Channel& work) {
  void *op = nullptr, *step = nullptr, *kernel = nullptr;
  if (Wants(kProxyOp | kProxyStep | kNetPlugin)) {
    Start(comm, &op, kProxyOp, work.task,
          [&](auto& d) { d.proxy_op = {getpid(), static_cast<uint8_t>(work.channel), 0, 1, 1024, 1}; });
    if (g_plugin.version >= 4) Record(op, kProxyOpInProgress, &step);
  }
  while (MonotonicNs() < work.begin) {
  }
  if (g_plugin.version >= 3 && Wants(kKernelCh)) {
    Start(comm, &kernel, kKernelCh, work.task, [&](auto& d) {
      if constexpr (requires { d.kernel.timer; })
        d.kernel = {static_cast<uint8_t>(work.channel), DeviceNs(work.begin)};
      else if constexpr (requires { d.kernel; })
        d.kernel = {static_cast<uint8_t>(work.channel)};
    });
  }
  if (Wants(kProxyStep | kNetPlugin)) {
    Start(comm, &step, kProxyStep, op, [&](auto& d) { d.step = 1; });
    size_t bytes = 4096;
    if (step) Record(step, kStepSendWait, &bytes);
    if (step) Stop(step);
  }
  if (op) Stop(op);
  while (MonotonicNs() < work.end) {
  }
  if (!kernel) return;
  uint64_t timer = DeviceNs(work.end);
  if (g_plugin.version >= 4) Record(kernel, kKernelChStop, &timer);
  Stop(kernel);
}

void RunProxy(ncclComm* comm) {
  for (;;) {
    while (comm->lock.test_and_set()) {
    }
    bool any = !comm->work.empty();
    Channel work = any ? comm->work.front() : Channel{};
    if (any) comm->work.pop_front();
    comm->lock.clear();
    if (any) {
      Progress(comm, work);
      --comm->queued;
    } else if (comm->ending) {
      return;
    } else {
      usleep(20);
    }
  }
}

void Flush() {
  if (--t_depth > 0) return;
  if (t_group_api) Record(t_group_api, kGroupEndApiStart, nullptr);
  std::vector<ncclComm*> comms;
  for (auto& [comm, op] : t_group) {
    bool seen = false;
    for (ncclComm* other : comms) seen = seen || other == comm;
    if (!seen) comms.push_back(comm);
  }
  for (ncclComm* comm : comms) {
    std::vector<Op> ops;
    for (auto& [its, op] : t_group)
      if (its == comm) ops.push_back(op);
    RunPlan(comm, ops);
    comm->last = ops;
  }
  t_group.clear();
  if (t_group_api) Stop(t_group_api);
  t_group_api = nullptr;
}

int Enqueue(ncclComm* comm, Op op) {
  ++t_depth;
  if (g_plugin.functions) {
    StartGroupApi(comm);
    StartApi(comm, op);
  }
  t_group.emplace_back(comm, op);
  Flush();
  return 0;
}

}  // namespace

extern "C" {
int ncclGetVersion(int* version) { return *version = 22900, 0; }
int pncclGetVersion(int* version) { return ncclGetVersion(version); }
int ncclGetUniqueId(ncclUniqueId* id) {
  memset(id, 0, sizeof(*id));
  snprintf(id->internal, sizeof(id->internal), "%d %lld", getpid(), static_cast<long long>(MonotonicNs()));
  return 0;
}
int ncclCommInitRank(ncclComm_t* made, int ranks, ncclUniqueId id, int rank) {
  auto* comm = new ncclComm;
  for (char c : id.internal) comm->hash = comm->hash * 31 + static_cast<unsigned char>(c);
  Search();
  if (g_plugin.functions) {
    int error = Visit([&](auto& f) {
      if constexpr (requires { f.init(&comm->context, &g_plugin.mask); })
        return f.init(&comm->context, &g_plugin.mask);
      else if constexpr (requires {
                           f.init(&comm->context, &g_plugin.mask, "double", comm->hash, 1, ranks, rank, nullptr);
                         })
        return f.init(&comm->context, &g_plugin.mask, "double", comm->hash, 1, ranks, rank, nullptr);
      else
        return f.init(&comm->context, comm->hash, &g_plugin.mask, "double", 1, ranks, rank, nullptr);
    });
    printf("init %d context %d mask %d hash %llx\n", error, comm->context != nullptr, g_plugin.mask,
           static_cast<unsigned long long>(comm->hash));
  }
  comm->proxy = std::thread(RunProxy, comm);
  *made = comm;
  return 0;
}
int ncclCommDestroy(ncclComm_t comm) {
  while (comm->queued) usleep(50);
  comm->ending = true;
  comm->proxy.join();
  if (g_plugin.functions && (comm->context || g_plugin.version <= 3))
    Visit([&](auto& f) { f.finalize(comm->context); });
  delete comm;
  return 0;
}
int ncclCommCount(ncclComm_t, int* count) { return *count = 1, 0; }
int ncclCommUserRank(ncclComm_t, int* rank) { return *rank = 0, 0; }
int ncclCommCuDevice(ncclComm_t, int* device) { return *device = 0, 0; }
int ncclAllReduce(const void*, void* recv, size_t count, int, int, ncclComm_t comm, void*) {
  return Enqueue(comm, {false, "AllReduce", 4, recv, count, 0});
}
int ncclSend(const void* buff, size_t count, int, int peer, ncclComm_t comm, void*) {
  return Enqueue(comm, {true, "Send", 6, const_cast<void*>(buff), count, peer});
}
int ncclRecv(void* buff, size_t count, int, int peer, ncclComm_t comm, void*) {
  return Enqueue(comm, {true, "Recv", 7, buff, count, peer});
}
int ncclGroupStart() { return ++t_depth, 0; }
int ncclGroupEnd() { return Flush(), 0; }

void DoubleLaunchGraph(ncclComm_t comm, int times) {
  for (int i = 0; i < times; ++i) std::thread([&] { RunPlan(comm, comm->last); }).join();
}

void DoubleStrayEvents(ncclComm_t comm) {
  if (!g_plugin.functions) return;
  uint64_t timer = 1;
  void* kernel = nullptr;
  for (uint64_t number : {0ull, 1ull, 2ull, 3ull, 4ull, 12345ull, ~0ull}) {
    void* handle = reinterpret_cast<void*>(number);
    Visit([&](auto& f) { f.record(handle, kKernelChStop, &timer); });
    Visit([&](auto& f) { f.stop(handle); });
    if (g_plugin.version >= 3) Start(comm, &kernel, kKernelCh, handle, [](auto&) {});
    Visit([&](auto& f) { f.stop(kernel); });
    Visit([&](auto& f) { f.record(kernel, kKernelChStop, &timer); });
    Visit([&](auto& f) { f.stop(kernel); });
  }
  for (uint32_t type : {0u, 1u << 20, static_cast<uint32_t>(kNetPlugin)}) {
    void* handle = nullptr;
    Start(comm, &handle, type, nullptr, [](auto&) {});
    if (handle) Visit([&](auto& f) { f.stop(handle); });
  }
  void* none = &none;
  Visit([&](auto& f) { f.start(nullptr, &none, nullptr); });
  printf("stray %d\n", none == nullptr);
}

void DoubleLeaveOpen(int leave) { g_leave_open = leave; }
}
