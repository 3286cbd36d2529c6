// A process whose trace lies in several files: what was dropped, parts, and what is being written.
#include <gtest/gtest.h>

#include "analyzer/load/load.h"
#include "analyzer/load/process_source.h"
#include "proto/batch_reader.h"
#include "proto/process_files.h"
#include "tests/unit/made_trace.h"
#include "tests/unit/scratch_dir.h"

namespace ddbg::analyzer {
namespace {

using test::BatchOf;
using test::SomeProcess;
using test::SomeRecord;
using test::TraceFile;

// `count` barriers at positions from `first` on, one a microsecond.
proto::Batch Barriers(uint64_t first, uint64_t count) {
  std::vector<Record> records;
  for (uint64_t i = first; i < first + count; ++i)
    records.push_back(SomeRecord(MpiCall::Barrier, static_cast<int64_t>(i) * 1000, 10));
  return BatchOf(records, first);
}

class Parts : public testing::Test {
 protected:
  void Write(const std::string& path, uint64_t first, uint64_t count) {
    EXPECT_TRUE(TraceFile(path, SomeProcess(0)).Add(Barriers(first, count)).Finish());
  }

  // Of positions 0 to `end`, with its init.
  void WriteKept(uint64_t end) {
    TraceFile file(KeptPath(stem), SomeProcess(0));
    proto::Batch* kept = file.Add()->mutable_kept();
    BatchBuilder(kept).Add(SomeRecord(MpiCall::Init, 5, 10));
    proto::Summary* summary = file.Add()->mutable_summary();
    summary->set_t_max_ns(static_cast<int64_t>(end) * 1000);
    summary->add_call(CallId(MpiCall::Barrier));
    summary->add_comm(1);
    summary->add_records(end);
    summary->add_duration(end * 10);
    summary->add_longest(10);
    summary->add_count(0);
    summary->add_last_seq(static_cast<uint32_t>(end));
    proto::Dropped* dropped = file.Add()->mutable_dropped();
    dropped->set_records(end);
    dropped->set_until_ns(static_cast<int64_t>(end) * 1000);
    dropped->add_thread(0);
    dropped->add_lane(0);
    dropped->add_end_position(end);
    EXPECT_TRUE(file.Finish());
  }

  Process Load() {
    analyzer::Run run = LoadRun({directory, ListTraceFiles(directory)});
    EXPECT_EQ(run.processes.size(), 1u);
    EXPECT_TRUE(run.unreadable.empty());
    return run.processes.empty() ? Process() : run.processes[0];
  }

  ScratchDir scratch;
  std::string stem = scratch / "rank-00000";
  std::string directory = stem.substr(0, stem.rfind('/'));
};

TEST_F(Parts, AreOneProcess) {
  WriteKept(100);
  Write(PartPath(stem, 9), 100, 10);
  Write(PartPath(stem, 10), 110, 10);
  Write(CurrentPath(stem), 120, 5);
  Process process = Load();
  EXPECT_EQ(process.calls.size(), 1u + 25u);
  EXPECT_EQ(process.calls[0].call, CallId(MpiCall::Init));
  EXPECT_EQ(process.dropped.records, 100u);
  ASSERT_EQ(process.dropped.sums.size(), 1u);
  EXPECT_EQ(process.dropped.sums[0].calls, 100u);
  EXPECT_TRUE(process.damage.empty());
  EXPECT_EQ(process.files.size(), 4u);
  EXPECT_EQ(process.file, CurrentPath(stem));
}

TEST_F(Parts, APartThatIsDigestedButStillThereIsNotReadAgain) {
  WriteKept(110);
  Write(PartPath(stem, 1), 100, 10);
  Write(CurrentPath(stem), 110, 5);
  EXPECT_EQ(Load().calls.size(), 1u + 5u);
}

TEST_F(Parts, AnyOfTheFilesStandsForAll) {
  Write(PartPath(stem, 1), 0, 10);
  Write(CurrentPath(stem), 10, 5);
  for (const std::string& path : {PartPath(stem, 1), CurrentPath(stem)}) {
    Result<Process> process = LoadProcess(path);
    ASSERT_TRUE(process.ok());
    EXPECT_EQ(process->calls.size(), 15u);
  }
}

TEST_F(Parts, APartThatIsMissingIsTold) {
  Write(PartPath(stem, 1), 0, 10);
  Write(PartPath(stem, 3), 20, 10);
  Write(CurrentPath(stem), 30, 5);
  Process process = Load();
  ASSERT_EQ(process.damage.size(), 1u);
  EXPECT_NE(process.damage[0].find("a part is missing in the middle: up to 10 records"), std::string::npos);
}

TEST(ProcessFile, NamesAreReadAsTheyAreMade) {
  for (uint32_t part : {1u, 999'999u, 4'000'000u}) {
    ProcessFile file = ToProcessFile(PartPath("/a/rank-00001", part));
    EXPECT_EQ(file.role, ProcessFile::kPart);
    EXPECT_EQ(file.part, part);
    EXPECT_EQ(file.stem, "/a/rank-00001");
  }
  EXPECT_EQ(ToProcessFile(KeptPath("proc-host.part-x-7")).role, ProcessFile::kKept);
  EXPECT_EQ(ToProcessFile("rank-00001.ddbg").role, ProcessFile::kCurrent);
  EXPECT_EQ(ToProcessFile("rank-00001.ddbg").stem, "rank-00001");
}

}  // namespace
}  // namespace ddbg::analyzer
