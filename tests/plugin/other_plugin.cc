// Another vendor's profiler plugin, as a user has it: of version OTHER_VERSION, it writes what it is told into the file
// $OTHER_LOG, a line an event, and asks for $OTHER_MASK.
#include <stdio.h>
#include <stdlib.h>

#include <atomic>

#include "shim/nccl/plugin/abi.h"

namespace {

using namespace ddbg::shim::nccl::plugin;

struct Handle {
  unsigned type;
  int number;
};

FILE* Log() {
  static FILE* log = fopen(getenv("OTHER_LOG"), "a");
  return log;
}

std::atomic<int> g_events{0};
int g_context;
int32_t* g_mask = nullptr;

template <class D>
int32_t Start(void* context, void** handle, D* d) {
  auto* event = new Handle{static_cast<unsigned>(d->type), ++g_events};
  auto* parent = static_cast<Handle*>(d->parent);
  void* group = nullptr;
  if constexpr (requires { d->coll.parent_group; }) {
    if (d->type == kColl) group = d->coll.parent_group;
    if (d->type == kP2p) group = d->p2p.parent_group;
  }
  fprintf(Log(), "start %u number %d parent %u group %u context %d\n", event->type, event->number,
          parent ? parent->type : 0, group ? static_cast<Handle*>(group)->type : 0, context == &g_context);
  *handle = event;
  return 0;
}
int32_t Stop(void* handle) {
  fprintf(Log(), "stop %u number %d\n", static_cast<Handle*>(handle)->type, static_cast<Handle*>(handle)->number);
  return 0;
}
int32_t Record(void* handle, int32_t state, void*) {
  fprintf(Log(), "record %u state %d\n", static_cast<Handle*>(handle)->type, state);
  return 0;
}
int32_t Finalize(void* context) {
  fprintf(Log(), "finalize %d\n", context == &g_context);
  fflush(Log());
  return 0;
}
int32_t Begin(void** context, int32_t* mask, int version) {
  fprintf(Log(), "init v%d\n", version);
  if (getenv("OTHER_FAILS")) return 3;
  *context = &g_context;
  *mask = atoi(getenv("OTHER_MASK"));
  g_mask = mask;
  return 0;
}
template <int kVersion>
int32_t InitOld(void** context, int32_t* mask) {
  return Begin(context, mask, kVersion);
}
[[maybe_unused]] int32_t Init4(void** context, int32_t* mask, const char*, uint64_t, int32_t, int32_t, int32_t, void*) {
  return Begin(context, mask, 4);
}
template <int kVersion>
int32_t InitNew(void** context, uint64_t, int32_t* mask, const char*, int32_t, int32_t, int32_t, void*) {
  return Begin(context, mask, kVersion);
}

}  // namespace

#define OTHER(version, init)                         \
  extern VersionOf<version> ncclProfiler_v##version; \
  VersionOf<version> ncclProfiler_v##version = {     \
      {"other", init, Start<VersionOf<version>::Descriptor>, Stop, Record, Finalize}};
extern "C" {
#if OTHER_VERSION == 1
OTHER(1, InitOld<1>)
#elif OTHER_VERSION == 2
OTHER(2, InitOld<2>)
#elif OTHER_VERSION == 3
OTHER(3, InitOld<3>)
#elif OTHER_VERSION == 4
OTHER(4, Init4)
#elif OTHER_VERSION == 5
OTHER(5, InitNew<5>)
#else
OTHER(6, InitNew<6>)
#endif
}
