#include "analyzer/load/run_dirs.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/scratch_dir.h"

namespace ddbg::analyzer {
namespace {

namespace fs = std::filesystem;

void Touch(const std::string& path) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path).put('x');
}

// Two runs, one with three attempts, and `latest`.
struct Runs {
  ScratchDir dir;
  Runs() {
    Touch(dir / "0190-aaaa/a0/rank-00001.ddbg");
    Touch(dir / "0190-aaaa/a0/rank-00000.ddbg");
    Touch(dir / "0190-aaaa/a0/node-h.ddbg");
    Touch(dir / "0190-aaaa/a0/collector-h.log");
    Touch(dir / "0190-bbbb/a2/rank-00000.ddbg");
    Touch(dir / "0190-bbbb/a10/rank-00000.ddbg");
    Touch(dir / "0190-bbbb/abc/rank-00000.ddbg");
    fs::create_directory_symlink("0190-bbbb", dir / "latest");
  }
  std::string Path(const std::string& name) const { return dir / name; }
  Result<RunFiles> Resolve(const std::vector<std::string>& names) const { return ResolveRun(names, dir.path()); }
};

TEST(RunDirs, AttemptDirectoryGivesItsTraceFilesSorted) {
  Runs runs;
  Result<RunFiles> run = runs.Resolve({runs.Path("0190-aaaa/a0")});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->dir, runs.Path("0190-aaaa/a0"));
  EXPECT_EQ(run->files,
            (std::vector<std::string>{runs.Path("0190-aaaa/a0/node-h.ddbg"), runs.Path("0190-aaaa/a0/rank-00000.ddbg"),
                                      runs.Path("0190-aaaa/a0/rank-00001.ddbg")}));
}

TEST(RunDirs, RunStandsForItsLastAttemptByNumber) {
  Runs runs;
  for (const std::string& name : {runs.Path("0190-bbbb"), std::string("0190-bbbb"), std::string("0190-b"),
                                  std::string("latest"), runs.Path("latest"), runs.dir.path()}) {
    Result<RunFiles> run = runs.Resolve({name});
    ASSERT_TRUE(run.ok()) << name << ": " << run.error().text;
    EXPECT_EQ(fs::canonical(run->dir), fs::canonical(runs.Path("0190-bbbb/a10"))) << name;
    EXPECT_EQ(run->files.size(), 1u);
  }
}

TEST(RunDirs, FileIsARunOfItsOwn) {
  Runs runs;
  Result<RunFiles> run = runs.Resolve({runs.Path("0190-aaaa/a0/rank-00001.ddbg")});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->files.size(), 1u);
  EXPECT_EQ(run->dir, runs.Path("0190-aaaa/a0"));
}

TEST(RunDirs, SeveralNamesAreOneRunAndEachFileCountsOnce) {
  Runs runs;
  Result<RunFiles> run = runs.Resolve({"0190-aaaa", runs.Path("0190-aaaa/a0/rank-00001.ddbg"), "0190-bbbb"});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->files.size(), 4u);
}

TEST(RunDirs, RunIdGoesBeforeADirectoryOfTheSameName) {
  Runs runs;
  ScratchDir elsewhere;
  Touch(elsewhere / "latest/rank-00009.ddbg");
  fs::path before = fs::current_path();
  fs::current_path(elsewhere.path());
  Result<RunFiles> run = runs.Resolve({"latest"});
  fs::current_path(before);
  ASSERT_TRUE(run.ok());
  EXPECT_TRUE(run->files[0].ends_with("rank-00000.ddbg"));
}

TEST(RunDirs, UnknownAndAmbiguousNamesAreErrorsWithAWayOut) {
  Runs runs;
  EXPECT_NE(runs.Resolve({"nothing"}).error().text.find("DDBG_DIR"), std::string::npos);
  EXPECT_NE(runs.Resolve({"0190"}).error().text.find("beginning of 2 runs"), std::string::npos);
  EXPECT_FALSE(runs.Resolve({""}).ok());
  EXPECT_FALSE(runs.Resolve({"./0190-aaaa"}).ok());
  EXPECT_FALSE(runs.Resolve({runs.Path("0190-aaaa/a7")}).ok());
}

TEST(RunDirs, RunWithoutTraceFilesSaysSo) {
  Runs runs;
  fs::create_directories(runs.Path("0191-cccc/a0"));
  EXPECT_NE(runs.Resolve({"0191-cccc"}).error().text.find("no trace file yet"), std::string::npos);
  ScratchDir empty;
  EXPECT_NE(runs.Resolve({empty.path()}).error().text.find("holds no trace"), std::string::npos);
}

TEST(RunDirs, RunsDirectoryIsGivenByTheEnvironment) {
  setenv("DDBG_DIR", "/some/where", 1);
  EXPECT_EQ(RunsDirectory(), "/some/where");
  unsetenv("DDBG_DIR");
  EXPECT_EQ(RunsDirectory(), "ddbg-runs");
}

}  // namespace
}  // namespace ddbg::analyzer
