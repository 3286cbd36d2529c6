// The recorder without a preload: what wrappers do around a call, seen in the region the collector would read.
#include "shim/recorder/recorder.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "shim/recorder/recorder_state.h"
#include "shim/recorder/stacks.h"

namespace ddbg::shim {
namespace {

constexpr uint16_t kSomeCall = kFirstCall + 3;

// Nobody collects: the test plays the collector by moving `written`.
class RecorderTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("DDBG_SOCKET", "/nonexistent/ddbg-recorder-test.sock", 1);
    setenv("DDBG_COLLECTOR", "/nonexistent/ddbg-collector", 1);
  }

  [[gnu::noinline]] static ThreadState* EnterHere() { return Enter(__builtin_frame_address(0)); }

  static Record& Fill(ThreadState& t, uint16_t call = kSomeCall) {
    Record& record = t.slot->in_flight.half[0];
    record = Record{};
    record.call = call;
    return record;
  }

  static void DoCall(ThreadState& t, uint64_t count, LaneId lane = kVitalLane) {
    Fill(t).count = count;
    OpenCall(t, 1);
    CloseCall(t, lane);
  }

  static const LaneWriter& Lane(const ThreadState& t, LaneId lane) { return t.lane[lane]; }
  static const Record& Last(const ThreadState& t, LaneId lane, uint64_t back = 1) {
    return Lane(t, lane).cells[(Lane(t, lane).head - back) & Lane(t, lane).mask];
  }
  static void Collect(ThreadState& t, LaneId lane) {
    t.lane[lane].state->written.store(t.lane[lane].head, std::memory_order_release);
  }
};

TEST_F(RecorderTest, ShowsACallWhileItIsOpenAndRecordsItAtItsEnd) {
  ThreadState* t = EnterHere();
  ASSERT_NE(t, nullptr);
  Fill(*t).count = 7;
  OpenCall(*t, 1);
  EXPECT_EQ(t->slot->in_flight.sequence.load() & 1, 1u);
  EXPECT_EQ(t->slot->in_flight.half[0].count, 7u);

  CloseCall(*t, kVitalLane);
  Leave(*t);

  EXPECT_EQ(t->slot->in_flight.sequence.load() & 1, 0u);
  EXPECT_EQ(Last(*t, kVitalLane).call, kSomeCall);
  EXPECT_EQ(Last(*t, kVitalLane).count, 7u);
  EXPECT_EQ(Lane(*t, kVitalLane).state->head.load(), Lane(*t, kVitalLane).head);
}

TEST_F(RecorderTest, CountsOnlyTheOutermostCall) {
  ThreadState* t = Enter(reinterpret_cast<void*>(uintptr_t{0x7000}));
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(Enter(reinterpret_cast<void*>(uintptr_t{0x6000})), nullptr);
  Leave(*t);
  EXPECT_NE(Enter(reinterpret_cast<void*>(uintptr_t{0x6000})), nullptr);
  Leave(*t);
}

TEST_F(RecorderTest, ForgetsAGuardThatALongjmpLeftBehind) {
  ThreadState* t = Enter(reinterpret_cast<void*>(uintptr_t{0x6000}));
  ASSERT_NE(t, nullptr);
  // no Leave: the call was left by longjmp; the next call is made from a frame as high or higher
  EXPECT_EQ(Enter(reinterpret_cast<void*>(uintptr_t{0x6000})), t);
  EXPECT_EQ(Enter(reinterpret_cast<void*>(uintptr_t{0x6800})), t);
  Leave(*t);
}

TEST_F(RecorderTest, DropsAndCountsWhenTheLaneIsFullAndTellsSoAfterwards) {
  ThreadState* t = EnterHere();
  ASSERT_NE(t, nullptr);
  Collect(*t, kBulkLane);
  uint64_t before = t->slot->lost[kLossRingFull].load();
  for (uint64_t i = 0; i < kLaneCells[kBulkLane] + 10; ++i) DoCall(*t, i, kBulkLane);
  EXPECT_EQ(t->slot->lost[kLossRingFull].load() - before, 10u);
  EXPECT_EQ(Lane(*t, kBulkLane).head - Lane(*t, kBulkLane).state->written.load(), kLaneCells[kBulkLane]);

  Collect(*t, kBulkLane);
  DoCall(*t, 4711, kBulkLane);
  Leave(*t);

  EXPECT_EQ(Last(*t, kBulkLane).count, 4711u);
  const Record& lost = Last(*t, kBulkLane, 2);
  EXPECT_EQ(lost.call, kCallLost);
  EXPECT_EQ(lost.count, 10u);
  EXPECT_EQ(lost.aux, kLossRingFull);
}

TEST_F(RecorderTest, AFloodInOneLaneLeavesTheOtherAlone) {
  ThreadState* t = EnterHere();
  ASSERT_NE(t, nullptr);
  Collect(*t, kVitalLane);
  for (uint64_t i = 0; i < 2 * kLaneCells[kBulkLane]; ++i) DoCall(*t, i, kBulkLane);
  uint64_t lost = t->slot->lost[kLossRingFull].load();
  DoCall(*t, 1, kVitalLane);
  Leave(*t);
  EXPECT_EQ(t->slot->lost[kLossRingFull].load(), lost);
  EXPECT_EQ(Last(*t, kVitalLane).count, 1u);
  Collect(*t, kBulkLane);
}

TEST_F(RecorderTest, WritesADefinitionWholeAcrossTheWrap) {
  ThreadState* t = EnterHere();
  ASSERT_NE(t, nullptr);
  std::string bytes(300, 'x');
  for (uint64_t i = 0; i < kLaneCells[kVitalLane]; ++i) {
    Collect(*t, kVitalLane);
    uint64_t head = Lane(*t, kVitalLane).head;
    bytes[299] = static_cast<char>('a' + i % 26);
    ASSERT_TRUE(PushDefinition(*t, bytes));
    ASSERT_EQ(Lane(*t, kVitalLane).head - head, 6u);
    ASSERT_EQ(Last(*t, kVitalLane, 6).call, kCallDefinition);
    const char* last = reinterpret_cast<const char*>(&Last(*t, kVitalLane, 1));
    ASSERT_EQ(last[299 - 4 * 64], bytes[299]);
  }
  Leave(*t);
}

TEST_F(RecorderTest, CoalescesARowOfPolls) {
  ThreadState* t = EnterHere();
  ASSERT_NE(t, nullptr);
  Collect(*t, kBulkLane);
  DoCall(*t, 0, kBulkLane);  // tells what an earlier test lost
  uint64_t head = Lane(*t, kBulkLane).head;
  for (int i = 0; i < 1000; ++i) {
    Fill(*t);
    OpenCall(*t, 1);
    ClosePoll(*t, kBulkLane, 99);
  }
  DoCall(*t, 1, kBulkLane);
  Leave(*t);
  // at 1, 2, 4 … 512, at the end of the row, and the other call
  EXPECT_EQ(Lane(*t, kBulkLane).head - head, 12u);
  EXPECT_EQ(Last(*t, kBulkLane, 2).count, 1000u);
  EXPECT_NE(Last(*t, kBulkLane, 2).flags & kFlagNothingDone, 0);
}

TEST_F(RecorderTest, GivesEachThreadARingOfItsOwn) {
  ASSERT_NE(EnterHere(), nullptr);  // while one thread makes the recorder, others pass through: they must not wait
  Leave(g_thread);
  constexpr int kThreads = 8;
  constexpr uint64_t kCalls = 500;
  std::vector<ThreadSlot*> slots(kThreads);
  std::vector<std::thread> threads;
  for (int n = 0; n < kThreads; ++n)
    threads.emplace_back([&, n] {
      for (uint64_t i = 0; i < kCalls; ++i) {
        ThreadState* t = EnterHere();
        ASSERT_NE(t, nullptr);
        DoCall(*t, i);
        Leave(*t);
        slots[n] = t->slot;
        EXPECT_EQ(Last(*t, kVitalLane).count, i);
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::sort(slots.begin(), slots.end());
  EXPECT_EQ(std::unique(slots.begin(), slots.end()), slots.end());
}

TEST_F(RecorderTest, SendsAStackOnceAndGivesItsIdAgain) {
  ThreadState* t = EnterHere();
  ASSERT_NE(t, nullptr);
  if (StacksDescription() != "libunwind") GTEST_SKIP() << StacksDescription();
  Collect(*t, kVitalLane);
  uint32_t ids[3];
  uint64_t heads[3];
  for (int i = 0; i < 3; ++i) {
    ids[i] = CaptureStack(*t, true);
    heads[i] = Lane(*t, kVitalLane).head;
  }
  Leave(*t);
  EXPECT_NE(ids[0], 0u);
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(ids[1], ids[2]);
  EXPECT_EQ(heads[1], heads[2]);
}

TEST_F(RecorderTest, AForkedChildIsAProcessOfItsOwn) {
  ThreadState* t = EnterHere();
  ASSERT_NE(t, nullptr);
  Leave(*t);
  Recorder* parent = CurrentRecorder();
  uint64_t head = Lane(*t, kVitalLane).head;
  pid_t child = fork();
  if (child == 0) {
    ThreadState* own = EnterHere();
    if (!own || CurrentRecorder() == parent || CurrentRecorder()->region.header()->pid != getpid()) _exit(1);
    DoCall(*own, 1);
    _exit(Lane(*own, kVitalLane).head >= 1 ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Lane(*t, kVitalLane).state->head.load(), head);
  EXPECT_NE(EnterHere(), nullptr);
  Leave(g_thread);
}

// Run in a child, which has no recorder yet. 0: each thread's first call was let in within a second.
int FirstCallsAtOnce(ThreadState* (*enter)()) {
  constexpr int kThreads = 16;
  std::atomic<int> ready{0}, missed{0};
  std::vector<std::thread> threads;
  int64_t begin = 0;
  for (int n = 0; n < kThreads; ++n)
    threads.emplace_back([&] {
      if (++ready == kThreads) begin = MonotonicNs();
      while (ready.load() < kThreads) std::this_thread::yield();
      missed += enter() == nullptr;
    });
  for (std::thread& thread : threads) thread.join();
  bool late = MonotonicNs() - begin > 1'000'000'000;
  return missed != 0 ? 1 : late ? 2 : CurrentRecorder()->region.slot(0)->lost[kLossNotStarted].load() != 0 ? 3 : 0;
}

void ExpectNoneMissedInChildren(ThreadState* (*enter)()) {
  for (int i = 0; i < 10; ++i) {
    pid_t child = fork();
    if (child == 0) _exit(FirstCallsAtOnce(enter));
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(RecorderTest, MissesNoFirstCallOfThreadsThatComeAtOnce) { ExpectNoneMissedInChildren(EnterHere); }

// What they find of the parent's is not theirs, and one of them begins anew.
TEST_F(RecorderTest, MissesNoFirstCallOfThreadsInAForkedChild) {
  ASSERT_NE(EnterHere(), nullptr);
  Leave(g_thread);
  ExpectNoneMissedInChildren(EnterHere);
}

}  // namespace
}  // namespace ddbg::shim
