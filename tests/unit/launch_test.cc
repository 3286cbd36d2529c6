#include "analyzer/launch/launch.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "analyzer/launch/hang_watch.h"
#include "analyzer/launch/job.h"
#include "analyzer/launch/program_check.h"
#include "analyzer/load/run_id.h"
#include "analyzer/load/settle.h"
#include "analyzer/model/switches.h"
#include "tests/unit/made_trace.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/trace_file.h"
#include "tests/unit/wait_until.h"

namespace ddbg::analyzer {
namespace {

void WriteProgram(const std::string& path, std::string_view content) {
  WriteBytes(path, content);
  chmod(path.c_str(), 0755);
}

TEST(RunId, IsAVersion7UuidThatSortsByTime) {
  std::string first = NewRunId();
  ASSERT_EQ(first.size(), 36u);
  EXPECT_EQ(first[14], '7');
  EXPECT_NE(std::string("89ab").find(first[19]), std::string::npos);
  EXPECT_TRUE(IsUsableRunId(first));
  EXPECT_NE(first, NewRunId());
  ASSERT_TRUE(WaitUntil([&] { return NewRunId().substr(0, 13) > first.substr(0, 13); }));
}

TEST(RunId, MustBeADirectoryName) {
  EXPECT_TRUE(IsUsableRunId("job-17"));
  for (const char* wrong : {"", ".", "..", ".hidden", "a/b", "latest", "a\nb"})
    EXPECT_FALSE(IsUsableRunId(wrong)) << wrong;
}

TEST(Environment, SetsReplacesAndUnsets) {
  Environment environment({"A=1", "AB=2", "C="});
  environment.Set("A", "3");
  environment.Set("D", "4");
  environment.Unset("AB");
  EXPECT_EQ(environment.entries(), (std::vector<std::string>{"A=3", "C=", "D=4"}));
  EXPECT_EQ(environment.Get("C"), "");
  EXPECT_EQ(environment.GetOr("C", "x"), "x");
  EXPECT_EQ(environment.Get("B"), std::nullopt);
  EXPECT_STREQ(environment.Pointers()[2], "D=4");
  EXPECT_EQ(environment.Pointers()[3], nullptr);
}

constexpr char kInternalList[] = "OMPI_MCA_mca_base_env_list_internal";
constexpr char kList[] = "OMPI_MCA_mca_base_env_list";
const Preload kPreload = {"/o/lib/libddbg.so", "/runs", "run-1"};

TEST(PrepareEnvironment, SetsIdentityAndPreloadsFirst) {
  Environment environment({"LD_PRELOAD=/other.so"});
  PrepareEnvironment(kPreload, {"mpirun", "./a"}, &environment);
  EXPECT_EQ(environment.Get("LD_PRELOAD"), "/o/lib/libddbg.so:/other.so");
  EXPECT_EQ(environment.Get("DDBG_DIR"), "/runs");
  EXPECT_EQ(environment.Get("DDBG_RUN_ID"), "run-1");
  EXPECT_EQ(environment.Get(kInternalList), "LD_PRELOAD;DDBG_DIR;DDBG_RUN_ID;NVTX_INJECTION64_PATH");
  EXPECT_EQ(environment.Get(kList), std::nullopt);  // mpirun -x and this one together abort the job
}

TEST(PrepareEnvironment, TakesTheNvtxPlaceUnlessItIsAProfilers) {
  Environment environment, under_nsys({"NVTX_INJECTION64_PATH=/nsys.so"}), for_nsys,
      under_cuda({"CUDA_INJECTION64_PATH=/x"});
  PrepareEnvironment(kPreload, {"./a"}, &environment);
  EXPECT_EQ(environment.Get("NVTX_INJECTION64_PATH"), kPreload.library);
  PrepareEnvironment(kPreload, {"./a"}, &under_nsys);
  EXPECT_EQ(under_nsys.Get("NVTX_INJECTION64_PATH"), "/nsys.so");
  PrepareEnvironment(kPreload, {"mpirun", "-n", "2", "/opt/nvidia/bin/nsys", "profile", "./a"}, &for_nsys);
  EXPECT_EQ(for_nsys.Get("NVTX_INJECTION64_PATH"), std::nullopt);
  PrepareEnvironment(kPreload, {"./a"}, &under_cuda);
  EXPECT_EQ(under_cuda.Get("NVTX_INJECTION64_PATH"), std::nullopt);
}

TEST(PrepareEnvironment, PreloadsOnce) {
  Environment environment({"LD_PRELOAD=/other.so:/o/lib/libddbg.so"});
  PrepareEnvironment(kPreload, {"./a"}, &environment);
  EXPECT_EQ(environment.Get("LD_PRELOAD"), "/other.so:/o/lib/libddbg.so");
}

TEST(PrepareEnvironment, AppendsToAGivenListOfOpenMpi) {
  Environment environment({"OMPI_MCA_mca_base_env_list=FOO;BAR=1", "DDBG_SOCKET=/s"});
  PrepareEnvironment(kPreload, {"mpirun", "./a"}, &environment);
  EXPECT_EQ(environment.Get(kList), "FOO;BAR=1;LD_PRELOAD;DDBG_DIR;DDBG_RUN_ID;DDBG_SOCKET;NVTX_INJECTION64_PATH");
  EXPECT_EQ(environment.Get(kInternalList), std::nullopt);
}

TEST(PrepareEnvironment, LeavesAJobAloneThatUsesTheListItself) {
  Environment environment;
  PrepareEnvironment(kPreload, {"mpirun", "--mca", "mca_base_env_list", "FOO", "./a"}, &environment);
  EXPECT_EQ(environment.Get(kInternalList), std::nullopt);
  ScratchDir dir;
  WriteProgram(dir / "job.sh", "#!/bin/sh\nmpirun --mca mca_base_env_list FOO ./a\n");
  PrepareEnvironment(kPreload, {dir / "job.sh"}, &environment);
  EXPECT_EQ(environment.Get(kInternalList), std::nullopt);
  EXPECT_EQ(environment.Get("LD_PRELOAD"), "/o/lib/libddbg.so");
}

TEST(FindLibrary, LooksWhereItIsInstalledOrBuilt) {
  ScratchDir dir;
  std::filesystem::create_directories(dir / "bin");
  EXPECT_NE(FindLibrary(dir / "bin", Environment()).error().text.find("DDBG_LIBRARY"), std::string::npos);
  for (const char* place : {"shim", "bin", "lib"}) {
    std::filesystem::create_directories(dir / place);
    WriteBytes(dir / (std::string(place) + "/libddbg.so"), "");
    Result<std::string> library = FindLibrary(dir / "bin", Environment());
    ASSERT_TRUE(library.ok()) << place;
    EXPECT_EQ(*library, std::filesystem::canonical(dir / place) / "libddbg.so");
  }
  EXPECT_EQ(*FindLibrary(dir / "bin", Environment({"DDBG_LIBRARY=" + (dir / "lib/libddbg.so")})),
            dir / "lib/libddbg.so");
  EXPECT_FALSE(FindLibrary(dir / "bin", Environment({"DDBG_LIBRARY=/nowhere.so"})).ok());
}

TEST(LetLibraryFindCollector, SaysWhereOnlyIfItMust) {
  ScratchDir dir;
  for (const char* place : {"lib", "bin", "collector"}) std::filesystem::create_directories(dir / place);
  Environment environment;
  LetLibraryFindCollector(dir / "lib/libddbg.so", dir / "collector/ddbg-collector", &environment);
  EXPECT_EQ(environment.Get("DDBG_COLLECTOR"), dir / "collector/ddbg-collector");
  Environment installed;
  WriteProgram(dir / "bin/ddbg-collector", "");
  LetLibraryFindCollector(dir / "lib/libddbg.so", dir / "bin/ddbg-collector", &installed);
  EXPECT_EQ(installed.Get("DDBG_COLLECTOR"), std::nullopt);
}

TEST(StartCollector, TellsWhetherItCouldStart) {
  ScratchDir dir;
  Environment environment = Environment::Current();
  WriteProgram(dir / "good", "#!/bin/sh\nexit 0\n");
  WriteProgram(dir / "bad", "#!/bin/sh\nexit 2\n");
  EXPECT_TRUE(StartCollector(dir / "good", environment).ok());
  EXPECT_NE(StartCollector(dir / "bad", environment).error().text.find("status 2"), std::string::npos);
  EXPECT_EQ(StartCollector(dir / "missing", environment).error().code, ENOENT);
}

// An ELF file of a header and program headers.
std::string Elf(std::vector<uint32_t> segment_types, uint16_t machine, unsigned char bits = ELFCLASS64) {
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = bits;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_EXEC;
  header.e_machine = machine;
  header.e_phoff = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = static_cast<uint16_t>(segment_types.size());
  std::string bytes(reinterpret_cast<char*>(&header), sizeof(header));
  for (uint32_t type : segment_types) {
    Elf64_Phdr segment = {};
    segment.p_type = type;
    bytes.append(reinterpret_cast<char*>(&segment), sizeof(segment));
  }
  return bytes;
}

#if defined(__x86_64__)
constexpr uint16_t kOwn = EM_X86_64, kOther = EM_AARCH64;
#else
constexpr uint16_t kOwn = EM_AARCH64, kOther = EM_X86_64;
#endif

TEST(WhyNotTraceable, NamesStaticForeignAndSetuidPrograms) {
  ScratchDir dir;
  WriteProgram(dir / "dynamic", Elf({PT_LOAD, PT_INTERP}, kOwn));
  WriteProgram(dir / "static", Elf({PT_LOAD, PT_LOAD}, kOwn));
  WriteProgram(dir / "foreign", Elf({PT_LOAD, PT_INTERP}, kOther));
  WriteProgram(dir / "narrow", Elf({PT_LOAD, PT_INTERP}, EM_386, ELFCLASS32));
  WriteProgram(dir / "script", "#!/bin/sh\n");
  WriteProgram(dir / "cut", Elf({PT_LOAD, PT_LOAD}, kOwn).substr(0, 100));
  WriteProgram(dir / "empty", "");
  EXPECT_EQ(WhyNotTraceable(dir / "dynamic"), "");
  EXPECT_EQ(WhyNotTraceable(dir / "script"), "");
  EXPECT_EQ(WhyNotTraceable(dir / "cut"), "");
  EXPECT_EQ(WhyNotTraceable(dir / "empty"), "");
  EXPECT_EQ(WhyNotTraceable(dir / "missing"), "");
  EXPECT_NE(WhyNotTraceable(dir / "static").find("is statically linked: LD_PRELOAD cannot reach it"),
            std::string::npos);
  EXPECT_NE(WhyNotTraceable(dir / "foreign").find("rebuild it"), std::string::npos);
  EXPECT_NE(WhyNotTraceable(dir / "narrow").find("is a 32-bit program"), std::string::npos);
  if (geteuid() == 0 && chown((dir / "dynamic").c_str(), 1, 1) == 0) {
    chmod((dir / "dynamic").c_str(), 04755);
    EXPECT_NE(WhyNotTraceable(dir / "dynamic").find("setuid"), std::string::npos);
  }
}

TEST(WhyNotTraceable, LooksBehindALauncher) {
  ScratchDir dir;
  WriteProgram(dir / "static", Elf({PT_LOAD}, kOwn));
  WriteProgram(dir / "mpirun", "#!/bin/sh\n");
  WriteProgram(dir / "other", "#!/bin/sh\n");
  Environment environment({"PATH=" + dir.path()});
  EXPECT_NE(WhyNotTraceable({"mpirun", "-n", "2", dir / "static"}, environment), "");
  EXPECT_EQ(WhyNotTraceable({"other", dir / "static"}, environment), "");
  EXPECT_EQ(WhyNotTraceable({"missing"}, environment), "");
}

TEST(FindProgram, SearchesThePathAsAShellDoes) {
  ScratchDir dir;
  std::filesystem::create_directories(dir / "a/prog");  // a directory of that name is none
  std::filesystem::create_directories(dir / "b");
  WriteBytes(dir / "prog2", "not executable");
  WriteProgram(dir / "b/prog", "");
  Environment environment({"PATH=" + (dir / "a") + ":" + dir.path() + "::" + (dir / "b")});
  EXPECT_EQ(FindProgram("prog", environment), dir / "b/prog");
  EXPECT_EQ(FindProgram("prog2", environment), "");
  EXPECT_EQ(FindProgram("", environment), "");
  EXPECT_EQ(FindProgram(dir / "b/prog", Environment()), dir / "b/prog");
}

JobEnd RunHere(const std::vector<std::string>& command) {
  return RunJob(command, Environment::Current(), 1000, [] {});
}

TEST(RunJob, PassesTheExitCodeThrough) {
  EXPECT_EQ(RunHere({"true"}).exit_code, 0);
  EXPECT_EQ(RunHere({"sh", "-c", "exit 42"}).exit_code, 42);
  EXPECT_EQ(RunHere({"sh", "-c", "kill -9 $$"}).exit_code, 128 + SIGKILL);
}

TEST(RunJob, SaysWhyACommandCannotBeStarted) {
  ScratchDir dir;
  WriteBytes(dir / "text", "no program");
  JobEnd missing = RunHere({"no-such-command-here"});
  EXPECT_EQ(missing.exit_code, 127);
  EXPECT_NE(missing.not_started.find("no such command"), std::string::npos);
  EXPECT_EQ(RunHere({dir / "missing"}).exit_code, 127);
  EXPECT_EQ(RunHere({dir / "text"}).exit_code, 126);
  EXPECT_EQ(RunHere({dir.path()}).exit_code, 126);
}

TEST(RunJob, RunsAScriptWithoutInterpreterLine) {
  ScratchDir dir;
  WriteProgram(dir / "script", "exit $1\n");
  EXPECT_EQ(RunHere({dir / "script", "7"}).exit_code, 7);
}

TEST(RunJob, GivesTheCommandItsEnvironmentAndSignalMask) {
  Environment environment = Environment::Current();
  environment.Set("DDBG_TEST_WORD", "here");
  EXPECT_EQ(RunJob({"sh", "-c", "test \"$DDBG_TEST_WORD\" = here"}, environment, 1000, [] {}).exit_code, 0);
  EXPECT_EQ(RunHere({"sh", "-c", "grep -q 'SigBlk:.*0000000000000000' /proc/self/status"}).exit_code, 0);
}

TEST(RunJob, KnowsTheExitCodeAlsoIfChildrenWereIgnored) {
  signal(SIGCHLD, SIG_IGN);
  int code = RunHere({"sh", "-c", "exit 5"}).exit_code;
  signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(code, 5);
}

TEST(RunJob, CallsBackWhileTheCommandRuns) {
  ScratchDir dir;
  int ticks = 0;
  std::string loop = "until test -e " + (dir / "go") + "; do sleep 0.01; done";
  RunJob({"sh", "-c", loop}, Environment::Current(), 5, [&] {
    if (++ticks == 3) WriteBytes(dir / "go", "");
  });
  EXPECT_GE(ticks, 3);
}

// A process that runs a job which writes down the signals it gets, in a process group of its own.
class SignalledJob {
 public:
  SignalledJob() {
    std::string script = "for s in TERM INT USR1 CONT; do trap \"echo $s >> " + log() + "\" $s; done\n echo ready > " +
                         (dir_ / "ready") + "\n until test -e " + (dir_ / "stop") + "; do sleep 0.01; done\n exit 9\n";
    pid_ = fork();
    if (pid_ == 0) {
      setpgid(0, 0);
      _exit(RunJob({"sh", "-c", script}, Environment::Current(), 1000, [] {}).exit_code);
    }
    EXPECT_TRUE(WaitUntil([&] { return std::filesystem::exists(dir_ / "ready"); }));
  }
  ~SignalledJob() {
    if (pid_ > 0) Finish();
  }

  pid_t pid() const { return pid_; }
  std::string Log() const { return ReadBytes(log()); }
  bool Sees(const std::string& signal) const {
    return WaitUntil([&] { return Log().find(signal) != std::string::npos; });
  }
  // Lets the job end; its exit code as passed on.
  int Finish() {
    WriteBytes(dir_ / "stop", "");
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  std::string log() const { return dir_ / "log"; }
  ScratchDir dir_;
  pid_t pid_ = -1;
};

TEST(RunJob, PassesASignalOnThatWasSentToItAlone) {
  SignalledJob job;
  kill(job.pid(), SIGTERM);
  EXPECT_TRUE(job.Sees("TERM"));
  kill(job.pid(), SIGUSR1);
  EXPECT_TRUE(job.Sees("USR1"));
  EXPECT_EQ(job.Finish(), 9);
}

TEST(RunJob, DoesNotDoubleASignalToTheGroup) {
  SignalledJob job;
  kill(-job.pid(), SIGTERM);
  EXPECT_TRUE(job.Sees("TERM"));
  // SIGCONT has a higher number, so it is dealt with after all that was pending.
  kill(job.pid(), SIGCONT);
  EXPECT_TRUE(job.Sees("CONT"));
  EXPECT_EQ(job.Log(), "TERM\nCONT\n");
  EXPECT_EQ(job.Finish(), 9);
}

TEST(RunJob, TakesASignalToItAndThenToItsGroupAsOne) {
  SignalledJob job;  // as coreutils' timeout does it
  kill(job.pid(), SIGTERM);
  kill(-job.pid(), SIGTERM);
  EXPECT_TRUE(job.Sees("TERM"));
  kill(job.pid(), SIGCONT);
  EXPECT_TRUE(job.Sees("CONT"));
  EXPECT_EQ(job.Log(), "TERM\nCONT\n");
}

TEST(RunJob, SurvivesASignalThatEndsTheJob) {
  pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    _exit(RunJob({"sh", "-c", "kill -TERM 0"}, Environment::Current(), 1000, [] {}).exit_code);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
}

// One rank whose last call has been open since 1970, as far as the trace's wall clock says.
void WriteHangingRun(const std::string& path) {
  test::TraceFile file(path, test::SomeProcess(0));
  file.Add(test::BatchOf({test::SomeRecord(MpiCall::Barrier, 2'000'000'000, 5)}, 0));
  proto::OpenCall* open_call = file.Add()->mutable_open_call();
  open_call->set_tid(77);
  open_call->add_half()->set_call(CallId(MpiCall::Barrier));
  open_call->mutable_half(0)->set_start_ns(3'000'000'000);
  open_call->set_seen_ns(5'000'000'000);
  ASSERT_TRUE(file.Finish());
}

TEST(HangWatch, TellsAHangOnce) {
  ScratchDir dir;
  WriteHangingRun(dir / "run/a0/rank-00000.ddbg");
  HangWatch watch(dir / "run", 0.02);
  EXPECT_FALSE(watch.Look().has_value());  // the first look only learns the sizes
  ASSERT_TRUE(WaitUntil([&] { return watch.Look().has_value(); }));
  EXPECT_FALSE(watch.Look().has_value());
}

TEST(HangWatch, IsOffWithZeroAndPatientWithoutFiles) {
  ScratchDir dir;
  HangWatch early(dir / "run", 0.001);
  EXPECT_FALSE(early.Look().has_value());
  WriteHangingRun(dir / "run/a0/rank-00000.ddbg");
  HangWatch off(dir / "run", 0);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(off.Look().has_value());
}

TEST(HangWatch, ARunHangsIfNoCallReturnedAndOneIsOpen) {
  constexpr int64_t kSecond = 1'000'000'000;
  analyzer::Run run;
  Process& process = run.processes.emplace_back();
  process.start_realtime_ns = 1000 * kSecond;
  process.start_monotonic_ns = 10 * kSecond;
  Call done, open;
  done.call = open.call = CallId(MpiCall::Barrier);
  done.start_ns = 20 * kSecond;
  done.duration_ns = kSecond;  // ended at 1011 s of the wall clock
  open.start_ns = 22 * kSecond;
  open.duration_ns = kNeverReturned;
  process.calls = {done};
  EXPECT_FALSE(IsHanging(run, 5, 2000 * kSecond));
  process.calls = {done, open};
  EXPECT_FALSE(IsHanging(run, 5, 1015 * kSecond));
  EXPECT_TRUE(IsHanging(run, 5, 1017 * kSecond));
  process.end.how = ProcessEnd::kExited;
  EXPECT_FALSE(IsHanging(run, 5, 1017 * kSecond));
}

TEST(Settle, ReturnsAtOnceWhenEveryEndIsThere) {
  ScratchDir dir;
  for (int rank : {0, 1}) {
    test::TraceFile file(dir / ("run/a0/rank-0000" + std::to_string(rank) + ".ddbg"), test::SomeProcess(rank));
    ASSERT_TRUE(file.AddEnd(proto::ProcessEnd::EXITED, 0, 5).Finish());
  }
  SettlePatience patience;
  patience.quiet_ms = patience.total_ms = 3'600'000;
  EXPECT_EQ(LoadWhenSettled(dir / "run", patience)->processes.size(), 2u);
}

TEST(Settle, GivesUpOnWhatNeverComes) {
  ScratchDir dir;
  SettlePatience patience = {.appear_ms = 1, .quiet_ms = 30, .total_ms = 3'600'000};
  EXPECT_FALSE(LoadWhenSettled(dir / "run", patience).has_value());
  ASSERT_TRUE(test::TraceFile(dir / "run/a0/rank-00000.ddbg", test::SomeProcess(0)).Finish());
  std::optional<analyzer::Run> run = LoadWhenSettled(dir / "run", patience);
  ASSERT_TRUE(run.has_value());
  EXPECT_FALSE(run->processes.at(0).end.recorded);
}

TEST(Switches, AreAllInTheHelp) {
  for (const char* name : {"DDBG_DIR", "DDBG_RUN_ID", "DDBG_SOCKET", "DDBG_STACKS"}) {
    EXPECT_NE(SwitchesHelp().find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace ddbg::analyzer
