#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "collector/black_box.h"
#include "collector/process_watch.h"
#include "tests/unit/fake_region.h"

namespace ddbg::collector {
namespace {

using How = ProcessEnding::How;

OpenCallCopy Open(const FakeRegion& fake, uint32_t slot, const Record& call) {
  fake.Enter(slot, call);
  OpenCallCopy copy;
  EXPECT_TRUE(ReadOpenCall(fake.region(), slot, &copy));
  return copy;
}

TEST(BlackBox, FindsTheRecordOfACallInEitherLaneAndRoundTheRingsEnd) {
  for (uint32_t lane : {kVitalLane, kBulkLane}) {
    FakeRegion fake;
    fake.StartLaneAt(4, lane, 5 * kLaneCells[lane] - 1);
    Record call = FakeRegion::Call(1000, 0, kFirstCall + 2);
    OpenCallCopy open = Open(fake, 4, call);
    EXPECT_FALSE(HadReturned(fake.region(), 4, open));
    fake.Publish(4, lane, call);
    for (int i = 0; i < 3; ++i) fake.Publish(4, lane, FakeRegion::Call(2000, 0, kCallCompletion));
    EXPECT_TRUE(HadReturned(fake.region(), 4, open));
  }
}

TEST(BlackBox, TellsACallFromAnotherOfTheSameInstantOrName) {
  FakeRegion fake;
  fake.Publish(0, kVitalLane, FakeRegion::Call(1000, 0, kFirstCall + 3));
  fake.Publish(0, kVitalLane, FakeRegion::Call(999, 0, kFirstCall + 2));
  EXPECT_FALSE(HadReturned(fake.region(), 0, Open(fake, 0, FakeRegion::Call(1000, 0, kFirstCall + 2))));
}

TEST(BlackBox, SumsLossesOverThreads) {
  FakeRegion fake;
  fake.region().slot(0)->lost[kLossRingFull] = 1;
  fake.region().slot(kMaxThreads - 1)->lost[kLossRingFull] = 2;
  fake.region().slot(3)->lost[kLossDisk] = 4;
  LostCounts lost = SumLost(fake.region());
  EXPECT_EQ(lost[kLossRingFull], 3u);
  EXPECT_EQ(lost[kLossDisk], 4u);
}

TEST(BlackBox, TakesTheExitRecordOnlyIfThereIsOne) {
  FakeRegion fake;
  EXPECT_EQ(EndingFromExitRecord(fake.region()).how, How::kGone);
  fake.region().header()->exit_code = 256 + 3;  // the system keeps eight bits
  fake.region().header()->exit_seen = 1;
  ProcessEnding ending = EndingFromExitRecord(fake.region());
  EXPECT_EQ(ending.how, How::kExited);
  EXPECT_EQ(ending.code, 3);
  EXPECT_EQ(ending.source, "exit record");
}

TEST(ProcessWatch, ReadsStatusWords) {
  EXPECT_EQ(EndingFromStatus(W_EXITCODE(5, 0), "x").how, How::kExited);
  EXPECT_EQ(EndingFromStatus(W_EXITCODE(5, 0), "x").code, 5);
  ProcessEnding killed = EndingFromStatus(W_EXITCODE(0, SIGKILL), "x");
  EXPECT_EQ(killed.how, How::kSignaled);
  EXPECT_EQ(killed.code, SIGKILL);
  EXPECT_FALSE(killed.core_dumped);
  EXPECT_TRUE(EndingFromStatus(W_EXITCODE(0, SIGSEGV) | 0x80, "x").core_dumped);
}

}  // namespace
}  // namespace ddbg::collector
