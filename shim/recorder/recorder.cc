#include "shim/recorder/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <new>

#include "shim/recorder/clock.h"
#include "shim/recorder/proc_files.h"
#include "shim/recorder/recorder_state.h"
#include "shim/recorder/say.h"
#include "shim/recorder/sender.h"
#include "shim/recorder/stack_memo.h"
#include "shim/recorder/stacks.h"

namespace ddbg::shim {

constinit thread_local ThreadState g_thread [[gnu::tls_model("initial-exec")]] = {};

namespace {

// Before the first recorder and in a forked child *g_live is 0; a fresh thread's token is 0 too, so the slow path is
// told apart by t.slot. A page of its own, since MADV_WIPEONFORK works on pages.
constinit volatile uint64_t g_never_live = 0;
constinit std::atomic<Recorder*> g_recorder = nullptr;
constinit uint64_t g_generations = 0;
constinit std::atomic<bool> g_failed{false};

// One thread makes the recorder. `pid`: of the process in which it does; 0: nobody has begun. `over`: the process in
// which it has done so. By pid, so that a forked child finds nothing of its parent's to take back, and its threads,
// which may all come at once, agree on who begins.
struct Starting {
  std::atomic<pid_t> pid{0};
  std::atomic<uint32_t> over{0};    // a futex
  std::atomic<uint64_t> missed{0};  // calls of threads that could not wait any longer
};
constinit Starting g_starting;
constinit thread_local bool g_starts_here [[gnu::tls_model("initial-exec")]] = false;  // this thread is at it
constinit SlotMemory g_slot_memory[kMaxThreads] = {};

uint64_t Live() { return *g_live.load(std::memory_order_acquire); }

int64_t PageSize() { return sysconf(_SC_PAGESIZE); }

bool MakeLivePage(uint64_t generation) {
  void* page = mmap(nullptr, PageSize(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  madvise(page, PageSize(), MADV_WIPEONFORK);
  *static_cast<volatile uint64_t*>(page) = generation;
  g_live.store(static_cast<const volatile uint64_t*>(page), std::memory_order_release);
  return true;
}

// Sealed against shrinking: the collector maps it and must never see SIGBUS.
OwnFile MakeRegionFile() {
  OwnFile file = OwnFile::Adopt(static_cast<int>(syscall(SYS_memfd_create, "ddbg", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  int fd = file.fd();
  if (fd < 0) return file;
  if (ftruncate(fd, kRegionBytes) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) file.Close();
  return file;
}

bool MakeRegion(Recorder* recorder) {
  recorder->memfd = MakeRegionFile();
  int fd = recorder->memfd.fd();
  if (fd < 0) return false;
  void* base = mmap(nullptr, kRegionBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED) {
    recorder->memfd.Close();
    return false;
  }
  // A child must not write into its parent's rings: it has none until it records itself.
  madvise(base, kRegionBytes, MADV_DONTFORK);
  recorder->region.base = static_cast<unsigned char*>(base);
  RegionHeader* header = new (base) RegionHeader{};
  header->magic = kRegionMagic;
  header->version = kRegionVersion;
  header->max_threads = kMaxThreads;
  header->region_bytes = kRegionBytes;
  header->cells_offset = kCellsOffset;
  header->clock_kind = g_clock;
  header->pid = recorder->pid;
  header->clock_start = TakeClockSample(g_clock);
  return true;
}

// A job may end before the first collector of its node is up. The program has nothing left to do then, so that it
// waits for us: until the region is handed over, two seconds at most.
void AwaitHandover(const Recorder& recorder) {
  constexpr int kMostMs = 2000;
  for (int ms = 0; ms < kMostMs && recorder.handover.load(std::memory_order_relaxed) == Handover::kPending; ++ms) {
    timespec millisecond{0, 1'000'000};
    nanosleep(&millisecond, nullptr);
  }
}

bool IsWritten(const Region& region) {
  for (uint32_t i = 0; i < kMaxThreads; ++i) {
    for (const LaneState& lane : region.slot(i)->lane) {
      if (lane.written.load(std::memory_order_relaxed) != lane.head.load(std::memory_order_relaxed)) return false;
    }
  }
  return true;
}

// In a container the collector is killed together with the last of its processes, which this may be. Elsewhere it
// lives on, and nothing has to be waited for.
void AwaitWriting(const Recorder& recorder) {
  constexpr int kMostMs = 1000;
  constexpr char kFirstNamespace[] = "pid:[4026531836]";  // PROC_PID_INIT_INO of Linux
  if (ReadLink("/proc/self/ns/pid") == kFirstNamespace) return;
  const std::atomic<int32_t>& write_error = recorder.region.header()->write_error;
  for (int ms = 0; ms < kMostMs && recorder.handover.load(std::memory_order_relaxed) == Handover::kDone; ++ms) {
    if (write_error.load(std::memory_order_relaxed) != 0 || IsWritten(recorder.region)) return;
    timespec millisecond{0, 1'000'000};
    nanosleep(&millisecond, nullptr);
  }
}

// What a job of any length is told of a recording that does not get anywhere.
void SayWhatIsNotKept(const Recorder& recorder) {
  if (recorder.handover.load(std::memory_order_relaxed) == Handover::kPending)
    Say(kNoCollectorAnswers, recorder.settings.socket);
  SayIfUnwritten(recorder);
}

void RecordExitCode(int status, void*) {
  Recorder* recorder = CurrentRecorder();
  if (!recorder || Live() != recorder->generation) return;
  RegionHeader* header = recorder->region.header();
  header->exit_code = status;
  header->exit_seen.store(1, std::memory_order_release);
  AwaitHandover(*recorder);
  AwaitWriting(*recorder);
  SayWhatIsNotKept(*recorder);
}

// once per image: a forked child inherits the registration
void RegisterExitHook() {
  static bool registered = false;
  if (registered) return;
  registered = true;
  on_exit(RecordExitCode, nullptr);
}

uint64_t UsedAddressSpace() {
  uint64_t pages = strtoull(ReadFirstLine("/proc/self/statm").c_str(), nullptr, 10);
  return pages * static_cast<uint64_t>(PageSize());
}

// A program that is kept short of address space gets all of it: MPI libraries crash where a mapping fails.
bool HasAddressSpaceToSpare() {
  constexpr uint64_t kWanted = 8 * kRegionBytes;
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  uint64_t used = UsedAddressSpace();
  return limit.rlim_cur > used && limit.rlim_cur - used >= kWanted;
}

bool Start() {
  // No constructor of ours may run for a Recorder in a process that never records, so it is made here.
  void* memory = mmap(nullptr, sizeof(Recorder), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  Recorder* recorder = new (memory) Recorder;
  recorder->settings = ReadSettings();
  if (!recorder->settings.on) {
    g_off.store(true, std::memory_order_relaxed);
    return false;
  }
  recorder->pid = getpid();
  recorder->launcher = ReadLauncherWords();
  g_clock = ChooseClock();
  if (!HasAddressSpaceToSpare()) {
    Say("the address space of this process is limited too tightly (ulimit -v): the job runs on, nothing is recorded");
    return false;
  }
  if (!MakeRegion(recorder)) {
    Say("no shared memory for recording (%s): the job runs on, nothing is recorded", strerror(errno));
    return false;
  }
  StartStacks(recorder->settings.stacks);
  recorder->generation = ++g_generations;
  g_recorder.store(recorder, std::memory_order_release);  // pairs with the acquire in CurrentRecorder
  if (!MakeLivePage(recorder->generation)) return false;
  RegisterExitHook();
  if (!StartSender(recorder)) {
    recorder->handover.store(Handover::kHopeless, std::memory_order_relaxed);
    Say("no thread for sending (%s): nothing is recorded", strerror(errno));
  }
  return true;
}

bool IsLive() {
  const Recorder* recorder = CurrentRecorder();
  return recorder && Live() == recorder->generation;
}

// A forked child: what the parent had is not ours. Its region is not even mapped (MADV_DONTFORK).
void ForgetParent() {
  g_recorder.store(nullptr, std::memory_order_relaxed);
  g_live.store(&g_never_live, std::memory_order_relaxed);
  g_thread = {};
}

bool StartAndTell(pid_t own) {
  if (CurrentRecorder()) ForgetParent();
  g_starts_here = true;
  bool started = Start();
  g_starts_here = false;
  if (!started) g_failed.store(true, std::memory_order_relaxed);
  g_starting.over.store(static_cast<uint32_t>(own), std::memory_order_release);
  syscall(SYS_futex, &g_starting.over, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  return started;
}

// The first call of a thread while another makes the recorder: some milliseconds, so that no call is missed. Bounded,
// since the other may need a lock that this one holds (a constructor's, in dlopen). A signal handler cannot wait for
// the thread that it interrupted.
bool AwaitStart(pid_t own) {
  constexpr int64_t kMostNs = 100'000'000;
  if (g_starts_here) return false;
  // Nobody waits twice: once somebody has waited in vain, all pass.
  bool in_vain = g_starting.missed.load(std::memory_order_relaxed) != 0;
  for (int64_t now = MonotonicNs(), until = now + kMostNs; now < until && !in_vain; now = MonotonicNs()) {
    // acquire: pairs with the release in StartAndTell
    uint32_t over = g_starting.over.load(std::memory_order_acquire);
    if (over == static_cast<uint32_t>(own)) return IsLive();
    timespec left{0, until - now};
    syscall(SYS_futex, &g_starting.over, FUTEX_WAIT_PRIVATE, over, &left, nullptr, 0);
  }
  g_starting.missed.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool EnsureStarted() {
  if (IsLive()) return true;
  const Recorder* recorder = CurrentRecorder();
  // Whose start was the last: nobody's, or that of the process which this one was forked from. The thread that puts its
  // own process there makes the recorder, and the others wait for it.
  pid_t own = getpid(), starter = recorder && recorder->pid != own ? recorder->pid : 0;
  if (g_failed.load(std::memory_order_relaxed)) return false;
  if (g_starting.pid.compare_exchange_strong(starter, own, std::memory_order_acquire)) return StartAndTell(own);
  // Else forked while a thread of the parent was at it: that thread is not here, and the loader's lock may be taken.
  return starter == own && AwaitStart(own);
}

void CountMissed(const Region& region) {
  if (g_starting.missed.load(std::memory_order_relaxed) == 0) return;
  uint64_t missed = g_starting.missed.exchange(0, std::memory_order_relaxed);
  region.slot(0)->lost[kLossNotStarted].fetch_add(missed, std::memory_order_relaxed);
}

void AttachLane(LaneWriter* lane, const Region& region, uint32_t slot, uint32_t id) {
  lane->state = &region.slot(slot)->lane[id];
  lane->cells = region.cells(slot, id);
  lane->mask = kLaneCells[id] - 1;
  // A slot that an ended thread has left goes on where that one stopped.
  lane->head = lane->state->head.load(std::memory_order_relaxed);
  lane->written = lane->state->written.load(std::memory_order_acquire);
}

bool ClaimSlot(ThreadState& t) {
  const Region& region = CurrentRecorder()->region;
  uint32_t tid = static_cast<uint32_t>(syscall(SYS_gettid));
  for (uint32_t i = 0; i < kMaxThreads; ++i) {
    uint32_t free = 0;
    ThreadSlot* slot = region.slot(i);
    if (slot->tid.load(std::memory_order_relaxed) != 0) continue;
    // acquire: pairs with the sender's release when it freed the slot
    if (!slot->tid.compare_exchange_strong(free, tid, std::memory_order_acquire)) continue;
    for (uint32_t lane = 0; lane < kLanes; ++lane) AttachLane(&t.lane[lane], region, i, lane);
    t.memory = &g_slot_memory[i];
    if (t.memory->memo) t.memory->memo->Forget();
    t.slot = slot;
    return true;
  }
  return false;
}

}  // namespace

constinit std::atomic<const volatile uint64_t*> g_live = &g_never_live;
constinit std::atomic<bool> g_off{false};
constinit ClockKind g_clock = ClockKind::kMonotonic;

Recorder* CurrentRecorder() noexcept { return g_recorder.load(std::memory_order_acquire); }

void SayIfUnwritten(const Recorder& recorder) {
  int error = recorder.region.header()->write_error.load(std::memory_order_relaxed);
  if (error == 0) return;
  Say("the trace cannot be written to %s (%s): the job runs on, and what does not fit into shared memory is lost (see "
      "DDBG_DIR)",
      recorder.settings.dir, strerror(error));
}

const Settings& CurrentSettings() noexcept { return CurrentRecorder()->settings; }

RecordClock CurrentClock() noexcept {
  const RegionHeader& header = *CurrentRecorder()->region.header();
  return {header.clock_start.ticks,
          std::bit_cast<double>(header.clock_ns_per_tick_bits.load(std::memory_order_relaxed))};
}

ThreadState* EnterSlow(uintptr_t frame) noexcept {
  if (g_off.load(std::memory_order_relaxed)) return nullptr;
  ThreadState& t = g_thread;
  int saved_errno = errno;
  if (!EnsureStarted()) {
    errno = saved_errno;
    return nullptr;
  }
  uint64_t live = Live();
  if (t.token != live) {
    uintptr_t guard = t.guard;
    t = {};
    t.token = live;
    t.guard = guard;
  }
  CountMissed(CurrentRecorder()->region);
  bool nested = frame < t.guard;
  if (!nested && !t.slot && !ClaimSlot(t)) {
    // Any slot's counter does: the sum over all is what is told.
    CurrentRecorder()->region.slot(0)->lost[kLossNoThreadSlot].fetch_add(1, std::memory_order_relaxed);
  }
  errno = saved_errno;
  if (nested || !t.slot) return nullptr;
  t.guard = frame;
  return &t;
}

bool HasRoomSlow(LaneWriter& lane, uint64_t cells) noexcept {
  // acquire: the collector has read the cells below `written` before we overwrite them
  lane.written = lane.state->written.load(std::memory_order_acquire);
  return lane.head - lane.written + cells <= lane.mask + 1;
}

void CountLost(ThreadState& t, LaneId id, uint64_t ticks) noexcept {
  LaneWriter& lane = t.lane[id];
  if (lane.lost == 0) lane.lost_first = ticks;
  lane.lost_last = ticks;
  ++lane.lost;
  t.slot->lost[kLossRingFull].fetch_add(1, std::memory_order_relaxed);
}

void WriteLost(ThreadState& t, LaneId id) noexcept {
  LaneWriter& lane = t.lane[id];
  if (!HasRoom(lane, 2)) return;
  Record lost = {};
  lost.call = kCallLost;
  lost.start = lane.lost_first;
  lost.duration = lane.lost_last - lane.lost_first;
  lost.count = lane.lost;
  lost.aux = kLossRingFull;
  lost.peer = kNoPeer;
  lane.lost = 0;
  Push(t, id, lost);
}

bool PushDefinition(ThreadState& t, std::string_view bytes) noexcept {
  LaneWriter& lane = t.lane[kVitalLane];
  uint64_t cells = 1 + (bytes.size() + kCellBytes - 1) / kCellBytes;
  if (cells > lane.mask) {
    t.slot->lost[kLossDefinitionTooLarge].fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  if (!HasRoom(lane, cells)) return false;
  Record head = {};
  head.call = kCallDefinition;
  head.count = bytes.size();
  lane.cells[lane.head & lane.mask] = head;
  for (uint64_t done = 0, i = 1; done < bytes.size(); done += kCellBytes, ++i) {
    uint64_t part = bytes.size() - done < kCellBytes ? bytes.size() - done : kCellBytes;
    memcpy(static_cast<void*>(&lane.cells[(lane.head + i) & lane.mask]), bytes.data() + done, part);
  }
  lane.head += cells;
  lane.state->head.store(lane.head, std::memory_order_release);
  return true;
}

void FlushPoll(ThreadState& t, LaneId lane) noexcept {
  if (t.poll.key == 0) return;
  // Written up to here already? Then the row ended exactly at a snapshot.
  if (t.poll.record.count * 2 != t.poll.next_write || t.poll.record.count == 0) Push(t, lane, t.poll.record);
  t.poll.key = 0;
}

void ClosePoll(ThreadState& t, LaneId lane, uint64_t key) noexcept {
  const Record& now = t.slot->in_flight.half[0];
  PollRun& poll = t.poll;
  if (poll.key != key) {
    FlushPoll(t, lane);
    poll.record = now;
    poll.record.count = 0;
    poll.record.flags |= kFlagNothingDone;
    poll.key = key;
    poll.next_write = 1;
  }
  ++poll.record.count;
  poll.record.duration = Now() - poll.record.start;
  if (poll.record.count == poll.next_write) {
    Push(t, lane, poll.record);
    poll.next_write *= 2;
  }
  EndInFlight(t);
}

void* Scratch(ThreadState& t, uint64_t bytes) noexcept {
  SlotMemory& kept = *t.memory;
  if (bytes <= kept.scratch_bytes) return kept.scratch;
  uint64_t size = 65536;
  while (size < bytes) size *= 2;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (kept.scratch) munmap(kept.scratch, kept.scratch_bytes);
  kept.scratch = memory;
  kept.scratch_bytes = size;
  return memory;
}

void NoteAbort() noexcept {
  if (Recorder* recorder = CurrentRecorder()) recorder->region.header()->abort_seen.store(1, std::memory_order_release);
}

}  // namespace ddbg::shim
