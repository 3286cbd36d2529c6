#include "analyzer/verdict/attempts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/made_trace.h"
#include "tests/unit/scratch_dir.h"

namespace ddbg::analyzer {
namespace {

// A run whose attempts are of one rank each: a0 died by SIGSEGV, a1 has no trace, a2 ended well.
class Restarted : public testing::Test {
 protected:
  void SetUp() override {
    MakeAttempt(0, proto::ProcessEnd::SIGNALED, 11);
    std::filesystem::create_directories(dir_ / "run-1/a1");
    MakeAttempt(2, proto::ProcessEnd::EXITED, 0);
  }

  void MakeAttempt(int number, proto::ProcessEnd::How how, int code) {
    std::string path = dir_ / ("run-1/a" + std::to_string(number) + "/rank-00000.ddbg");
    test::TraceFile file(path, test::SomeProcess(0, 1));
    std::vector<Record> records = {test::SomeRecord(MpiCall::Init, 1'000'000'000, 1000)};
    if (code == 0) records.push_back(test::SomeRecord(MpiCall::Finalize, 1'000'010'000, 1000));
    file.Add(test::BatchOf(records, 0));
    file.AddEnd(how, code, 1'000'020'000);
    ASSERT_TRUE(file.Finish());
  }

  ScratchDir dir_;
};

TEST_F(Restarted, TheLastTellsWhatThoseBeforeEndedWith) {
  std::vector<EarlierAttempt> earlier = EarlierAttempts(dir_ / "run-1/a2");
  ASSERT_EQ(earlier.size(), 2u);
  EXPECT_EQ(earlier[0].number, 0u);
  EXPECT_EQ(OutcomeText(earlier[0]), "process_killed (rank 0)");
  EXPECT_EQ(OutcomeText(earlier[1]), "it has no trace");
}

TEST_F(Restarted, TheFirstHasNoneBefore) {
  EXPECT_TRUE(EarlierAttempts(dir_ / "run-1/a0").empty());
  EXPECT_TRUE(EarlierAttempts(dir_ / "run-1").empty());
  EXPECT_TRUE(EarlierAttempts("").empty());
}

TEST_F(Restarted, AnyAttemptCanBeAskedFor) {
  for (const char* name : {"run-1", "run-1/a2", "run-1/"}) {
    Result<std::vector<std::string>> files = FilesOfAttempt({dir_ / name}, 0);
    ASSERT_TRUE(files) << files.error().text;
    EXPECT_EQ(*files, std::vector<std::string>{dir_ / "run-1/a0/rank-00000.ddbg"}) << name;
  }
  Result<std::vector<std::string>> none = FilesOfAttempt({dir_ / "run-1"}, 7);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text.find("has no attempt 7; there are a0, a1, a2"), std::string::npos) << none.error().text;
  EXPECT_FALSE(FilesOfAttempt({dir_ / "run-1/a0/rank-00000.ddbg"}, 2));
}

TEST_F(Restarted, ALargeTraceIsNotLookedAtByTheWay) {
  std::filesystem::resize_file(dir_ / "run-1/a0/rank-00000.ddbg", kMostBytesOfEarlierAttempts + 1);
  EXPECT_NE(OutcomeText(EarlierAttempts(dir_ / "run-1/a2")[0]).find("not looked at"), std::string::npos);
}

// Rank 1 of two died in a0 and was started again, in a1.
class OneStartedAgain : public testing::Test {
 protected:
  void Make(int attempt, int rank, bool ends) {
    std::string name = "run-1/a" + std::to_string(attempt) + "/rank-0000" + std::to_string(rank) + ".ddbg";
    proto::Process process = test::SomeProcess(rank, 2);
    process.set_attempt_id(attempt);
    test::TraceFile file(dir_ / name, process);
    file.Add(test::BatchOf({test::SomeRecord(MpiCall::Init, 1'000'000'000, 1000)}, 0));
    if (ends) file.AddEnd(proto::ProcessEnd::SIGNALED, 9, 1'000'020'000);
    ASSERT_TRUE(file.Finish());
  }

  std::optional<analyzer::Run> LeftBehind() {
    Result<analyzer::Run> last = OpenRun({dir_ / "run-1/a1"});
    return last ? AttemptLeftBehind(*last, {}) : std::nullopt;
  }

  ScratchDir dir_;
};

TEST_F(OneStartedAgain, TheOthersAreStillInTheAttemptBefore) {
  Make(0, 0, false), Make(0, 1, true), Make(1, 1, false);
  std::optional<analyzer::Run> behind = LeftBehind();
  ASSERT_TRUE(behind);
  EXPECT_EQ(behind->attempt_id, 0u);
  EXPECT_EQ(behind->processes.size(), 2u);
  ASSERT_FALSE(behind->caveats.empty());
  EXPECT_NE(behind->caveats.back().find("rank 1 began attempt 1 alone"), std::string::npos) << behind->caveats.back();
}

TEST_F(OneStartedAgain, NotIfAllHaveBegunAnew) {
  Make(0, 0, true), Make(0, 1, true), Make(1, 0, false), Make(1, 1, false);
  EXPECT_FALSE(LeftBehind());
}

TEST_F(OneStartedAgain, NotIfTheOthersHaveEndedToo) {
  Make(0, 0, true), Make(0, 1, true), Make(1, 1, false);
  EXPECT_FALSE(LeftBehind());
}

}  // namespace
}  // namespace ddbg::analyzer
