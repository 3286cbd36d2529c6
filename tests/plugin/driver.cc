// driver SCENARIO: calls the double as a program calls NCCL. What it prints is for plugin_test.cc.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "tests/plugin/nccl_host.h"

namespace {

constexpr int kFloat32 = 7, kSum = 0;
float g_data[1 << 12];

ncclComm_t MakeComm() {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  ncclGetUniqueId(&id);
  ncclCommInitRank(&comm, 1, id, 0);
  return comm;
}

void AllReduce(ncclComm_t comm, size_t count) { ncclAllReduce(g_data, g_data, count, kFloat32, kSum, comm, nullptr); }

void Alone(ncclComm_t comm, int times) {
  for (int i = 0; i < times; ++i) AllReduce(comm, static_cast<size_t>(100 + i));
}

void Grouped(ncclComm_t comm) {
  ncclGroupStart();
  AllReduce(comm, 200);
  AllReduce(comm, 201);
  ncclGroupEnd();
  ncclGroupStart();
  ncclSend(g_data, 300, kFloat32, 0, comm, nullptr);
  ncclRecv(g_data + 2048, 300, kFloat32, 0, comm, nullptr);
  ncclGroupEnd();
}

}  // namespace

int main(int argc, char** argv) {
  const char* scenario = argc > 1 ? argv[1] : "plain";
  setvbuf(stdout, nullptr, _IOLBF, 0);
  usleep(10'000);
  ncclComm_t comm = MakeComm();
  // The recorder has measured its clock by then.
  usleep(150'000);
  if (!strcmp(scenario, "plain")) {
    Alone(comm, 4);
    Grouped(comm);
  } else if (!strcmp(scenario, "graph")) {
    Alone(comm, 1);
    DoubleLaunchGraph(comm, 3);
  } else if (!strcmp(scenario, "stray")) {
    DoubleStrayEvents(comm);
    Alone(comm, 2);
    DoubleStrayEvents(comm);
  } else if (!strcmp(scenario, "open")) {
    DoubleLeaveOpen(1);
    Alone(comm, 3);
    ncclCommDestroy(comm);
    DoubleLeaveOpen(0);
    comm = MakeComm();
    Alone(comm, 2);
  } else if (!strcmp(scenario, "threads")) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([] {
        ncclComm_t own = MakeComm();
        Alone(own, 50);
        ncclCommDestroy(own);
      });
    for (std::thread& thread : threads) thread.join();
  } else if (!strcmp(scenario, "many")) {
    Alone(comm, atoi(argv[2]));
  }
  ncclCommDestroy(comm);
  const char* named = getenv("NCCL_PROFILER_PLUGIN");
  printf("environment %s\ndone\n", named ? named : "unset");
  return 0;
}
