#include "shim/mpi/library.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <new>
#include <protozero/pbf_writer.hpp>
#include <string>

#include "shim/interpose/definitions.h"
#include "shim/interpose/library_copies.h"
#include "shim/interpose/real_function.h"
#include "shim/mpi/buffers.h"
#include "shim/mpi/caller.h"
#include "shim/mpi/communicators.h"
#include "shim/mpi/datatypes.h"
#include "shim/mpi/group_free.h"
#include "shim/mpi/nested.h"
#include "shim/mpi/pcontrol.h"

namespace ddbg::shim::mpi {

constinit Tables* g_tables = nullptr;
constinit std::atomic<uint64_t> g_attached{0};
constinit std::atomic<void*> g_real[2][static_cast<size_t>(MpiCall::kCount)] = {};

namespace {

constinit std::atomic<uint64_t> g_attaching{0};  // token whose attachment has begun
constinit std::atomic<uint64_t> g_over{0};       // token whose attachment has ended, well or not
constinit std::atomic<const ThreadState*> g_attacher{nullptr};
constinit std::atomic<uint64_t> g_left{0};  // token that was attached before MPI_Finalize
constinit std::atomic<Word (*)(Word)> g_initialized{nullptr}, g_finalized{nullptr};

void Empty(Tables* tables) {
  tables->comms.Clear();
  tables->dtypes.Clear();
  tables->ops.Clear();
  tables->requests.Clear();
  tables->messages.Clear();
  tables->groups.Clear();
  tables->world_group = tables->group_session = 0;
  tables->sessions = 0;
  tables->has_world = false;
}

// Ids are not used again: what they stood for before MPI_Finalize stays in the trace.
bool AllocateTables(bool again) {
  if (g_tables) {
    Empty(g_tables);
    g_tables->world = again ? g_tables->world + 1 : 0;
    return true;
  }
  void* memory = mmap(nullptr, sizeof(Tables), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  Tables* tables = new (memory) Tables;
  if (!tables->comms.Allocate() || !tables->dtypes.Allocate() || !tables->ops.Allocate() ||
      !tables->requests.Allocate() || !tables->messages.Allocate() || !tables->groups.Allocate())
    return false;
  g_tables = tables;
  return true;
}

// Order of MPI's own lists: mpif-handles.h of Open MPI, mpi.h of MPICH (low byte of 0x580000xx).
constexpr uint8_t kOpenMpiOps[] = {kOpNone, kOpMax,  kOpMin,  kOpSum,    kOpProd,   kOpLand,    kOpBand, kOpLor,
                                   kOpBor,  kOpLxor, kOpBxor, kOpMaxloc, kOpMinloc, kOpReplace, kOpNoOp};
constexpr uint8_t kMpichOps[] = {kOpNone, kOpMax,  kOpMin,  kOpSum,    kOpProd,   kOpLand,    kOpBand, kOpLor,
                                 kOpBor,  kOpLxor, kOpBxor, kOpMinloc, kOpMaxloc, kOpReplace, kOpNoOp};

// The standard's numbers, by ReduceOp.
constexpr struct {
  uint32_t handle;
  uint8_t op;
} kStandardOps[] = {{0x21, kOpSum},    {0x22, kOpMin},    {0x23, kOpMax},     {0x24, kOpProd}, {0x28, kOpBand},
                    {0x29, kOpBor},    {0x2a, kOpBxor},   {0x30, kOpLand},    {0x31, kOpLor},  {0x32, kOpLxor},
                    {0x38, kOpMinloc}, {0x39, kOpMaxloc}, {0x3c, kOpReplace}, {0x3d, kOpNoOp}};

void AddOps() {
  if (g_abi.family == Family::kStandard)
    for (auto [handle, op] : kStandardOps) g_tables->ops.Insert(handle, op);
  for (int i = 1; i <= 14; ++i) {
    if (g_abi.family == Family::kMpich) g_tables->ops.Insert(0x58000000u + i, kMpichOps[i]);
    if (g_abi.family == Family::kOpenMpi && g_mpi.Op_f2c) {
      uint64_t handle = static_cast<uint64_t>(g_mpi.Op_f2c(i));
      if (handle && !g_tables->ops.Find(handle)) g_tables->ops.Insert(handle, kOpenMpiOps[i]);
    }
  }
}

std::string LibraryVersion() {
  char text[8192] = "";
  int length = 0;
  if (!g_mpi.Get_library_version || g_mpi.Get_library_version(Address(text), Address(&length))) return "";
  std::string version = text;
  version = version.substr(0, version.find('\n'));
  for (char& c : version)
    if (c == '\t') c = ' ';
  return version;
}

void WriteLibrary(ThreadState& t) {
  Dl_info info = {};
  dladdr(reinterpret_cast<void*>(g_mpi.Comm_rank), &info);
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer library(definition, 4);
    library.add_string(1, "MPI");
    library.add_string(2, g_abi.name);
    library.add_string(3, LibraryVersion());
    library.add_string(4, info.dli_fname ? info.dli_fname : "");
  }
  PushDefinition(t, bytes);
}

// 0: not known.
int32_t TagUpperBound() {
  int* bound = nullptr;
  int found = 0;
  if (g_abi.tag_ub_key < 0 || !g_tables->has_world || !g_mpi.Comm_get_attr) return 0;
  if (g_mpi.Comm_get_attr(g_abi.comm_world, g_abi.tag_ub_key, Address(&bound), Address(&found))) return 0;
  return found && bound ? *bound : 0;
}

void WriteWorld(ThreadState& t, int thread_level) {
  int rank = -1, size = -1;
  if (g_tables->has_world) {
    g_mpi.Comm_rank(g_abi.comm_world, Address(&rank));
    g_mpi.Comm_size(g_abi.comm_world, Address(&size));
  } else {
    if (!g_tables->world_group || !g_mpi.Group_rank) return;
    g_mpi.Group_rank(g_tables->world_group, Address(&rank));
    g_mpi.Group_size(g_tables->world_group, Address(&size));
  }
  if (thread_level < 0 && g_tables->has_world && g_mpi.Query_thread && g_mpi.Query_thread(Address(&thread_level)))
    thread_level = -1;
  if (thread_level >= 0) thread_level = g_abi.ThreadLevel(thread_level);
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer world(definition, 5);
    world.add_sint32(1, rank);
    world.add_sint32(2, size);
    world.add_sint32(3, thread_level);
    world.add_sint32(4, TagUpperBound());
  }
  PushDefinition(t, bytes);
}

// `session`: 0 if MPI_Init was called.
void AddWorld(ThreadState& t, int thread_level, Word session) {
  g_tables->has_world = !session;
  ReleaseWorldGroup();
  FindWorldGroup(session);
  WriteWorld(t, thread_level);
  if (!session) AddWorldAndSelf(t);
}

// Another tool of the profiling interface that the program comes to before us: then what is recorded is what that tool
// calls.
void WriteToolBeforeUs(ThreadState& t) {
  constexpr const char* kNames[] = {
#define DDBG_MPI(name, ...) "MPI_" #name,
#include "proto/calls_mpi.def"
#undef DDBG_MPI
  };
  Dl_info mpi = {}, tool = {};
  dladdr(reinterpret_cast<void*>(g_mpi.Comm_rank), &mpi);
  for (const char* name : kNames) {
    void* first = dlsym(RTLD_DEFAULT, name);
    if (!first || IsOwnCode(first) || !dladdr(first, &tool) || tool.dli_fbase == mpi.dli_fbase) continue;
    std::string why =
        std::string(tool.dli_fname) +
        " takes the program's calls of MPI before libddbg.so does: what it calls by itself is recorded, too; "
        "name it after libddbg.so in LD_PRELOAD to have the program's calls alone";
    WriteLevel(t, "MPI tool", true, why.c_str());
    break;
  }
  dlerror();
}

void Fill(ThreadState& t, int thread_level, Word session) {
  PrepareBufferChecks();
  WriteToolBeforeUs(t);
  AddWorld(t, thread_level, session);
  AddPredefinedTypes(t);
  AddOps();
}

// Another thread is at it, in its first call like this one: some milliseconds, so that the call is recorded whole.
// Bounded, as whatever we wait for. A signal handler cannot wait for the thread that it interrupted.
void AwaitAttachment(const ThreadState& t) {
  constexpr int kMostMs = 100;
  static constinit std::atomic<bool> in_vain{false};
  if (g_attacher.load(std::memory_order_relaxed) == &t || in_vain.load(std::memory_order_relaxed)) return;
  for (int ms = 0; g_over.load(std::memory_order_acquire) != t.token; ++ms) {
    if (ms == kMostMs) return in_vain.store(true, std::memory_order_relaxed);
    timespec millisecond{0, 1'000'000};
    nanosleep(&millisecond, nullptr);
  }
}

bool SaysYes(std::atomic<Word (*)(Word)>* kept, const char* name) {
  Word (*function)(Word) = kept->load(std::memory_order_relaxed);
  if (!function) {
    function = reinterpret_cast<Word (*)(Word)>(shim::FindRealFunction(name));
    if (!function) return false;
    kept->store(function, std::memory_order_relaxed);
  }
  int flag = 0;
  return function(Address(&flag)) == 0 && flag;
}

}  // namespace

namespace {

// `session`: where its handle is; nullptr if MPI_Init was called.
void AttachAs(ThreadState& t, int thread_level, const void* session) {
  uint64_t before = g_attaching.load(std::memory_order_relaxed);
  if (before == t.token || !g_attaching.compare_exchange_strong(before, t.token, std::memory_order_acquire))
    return AwaitAttachment(t);
  g_attacher.store(&t, std::memory_order_relaxed);
  DetectAbi();
  WriteLibrary(t);
  // Of an unknown family's handles nothing is known: its calls have their numbers and stacks only.
  if (g_abi.family != Family::kUnknown && AllocateTables(g_left.load(std::memory_order_relaxed) == t.token)) {
    Fill(t, thread_level, session ? g_abi.ReadHandle(session) : 0);
    g_attached.store(t.token, std::memory_order_release);
  }
  g_over.store(t.token, std::memory_order_release);  // pairs with the acquire in AwaitAttachment
}

}  // namespace

void Attach(ThreadState& t, int thread_level) noexcept {
  AttachAs(t, thread_level, nullptr);
  // By a session before.
  if (IsAttached(t) && !g_tables->has_world) AddWorld(t, thread_level, 0);
}

void AttachSession(ThreadState& t, const void* session) noexcept {
  AttachAs(t, -1, session);
  if (IsAttached(t)) std::atomic_ref(g_tables->sessions).fetch_add(1, std::memory_order_relaxed);
}

void LeaveSession() noexcept {
  if (std::atomic_ref(g_tables->sessions).fetch_sub(1, std::memory_order_relaxed) == 1 && !g_tables->has_world)
    ForgetLibrary();
}

void AttachIfInitialized(ThreadState& t) noexcept {
  if (SaysYes(&g_initialized, "PMPI_Initialized") && !SaysYes(&g_finalized, "PMPI_Finalized")) Attach(t, -1);
}

void ForgetLibrary() noexcept {
  if (uint64_t token = g_attached.load(std::memory_order_relaxed)) g_left.store(token, std::memory_order_relaxed);
  g_attached.store(0, std::memory_order_relaxed);
  g_attaching.store(0, std::memory_order_relaxed);
  g_over.store(0, std::memory_order_relaxed);
  g_initialized.store(nullptr, std::memory_order_relaxed);
  g_finalized.store(nullptr, std::memory_order_relaxed);
  ForgetPcontrol();
  ForgetGroupFree();
  ForgetCallers();
  for (auto& functions : g_real) {
    for (auto& function : functions) function.store(nullptr, std::memory_order_relaxed);
  }
}

}  // namespace ddbg::shim::mpi
