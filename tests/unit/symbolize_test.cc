#include "analyzer/stacks/symbolize.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "analyzer/model/module_role.h"
#include "analyzer/stacks/fingerprint.h"
#include "analyzer/stacks/stack_view.h"
#include "tests/unit/scratch_dir.h"

namespace ddbg::analyzer {
namespace {

std::string BuildId(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    const char* end = at + info.dlpi_phdr[i].p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      const char* content = at + sizeof(*note) + ((note->n_namesz + 3) & ~3u);
      if (note->n_type == NT_GNU_BUILD_ID) return {content, note->n_descsz};
      at = content + ((note->n_descsz + 3) & ~3u);
    }
  }
  return "";
}

int AddModule(dl_phdr_info* info, size_t, void* out) {
  Module module;
  module.path = *info->dlpi_name ? info->dlpi_name : std::filesystem::read_symlink("/proc/self/exe").string();
  module.bias = info->dlpi_addr;
  module.start = UINT64_MAX;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    module.start = std::min<uint64_t>(module.start, info->dlpi_addr + header.p_vaddr);
    module.end = std::max<uint64_t>(module.end, info->dlpi_addr + header.p_vaddr + header.p_memsz);
  }
  module.build_id = BuildId(*info);
  static_cast<std::vector<Module>*>(out)->push_back(module);
  return 0;
}

// This process as a trace would tell it.
Process ThisProcess() {
  Process process;
  dl_iterate_phdr(AddModule, &process.modules);
  std::sort(process.modules.begin(), process.modules.end(),
            [](const Module& a, const Module& b) { return a.start < b.start; });
  return process;
}

[[gnu::noinline]] uint64_t ReturnAddress() {
  asm volatile("");
  return reinterpret_cast<uint64_t>(__builtin_return_address(0));
}

struct Place {
  uint64_t address;
  int line;
};

[[gnu::always_inline]] inline Place InnerOf() { return {ReturnAddress(), __LINE__}; }

// The address is in the inlined call; the second line is where that was called.
[[gnu::noinline]] std::pair<Place, int> OuterFunction() {
  int line = __LINE__ + 1;
  Place place = InnerOf();
  asm volatile("");
  return {place, line};
}

TEST(Symbolizer, FindsFunctionFileAndLineWithInlinedFrames) {
  auto [place, outer_line] = OuterFunction();
  Symbolizer symbolizer;
  std::vector<Frame> frames = symbolizer.Resolve(ThisProcess(), place.address);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_NE(frames[0].function.find("InnerOf"), std::string::npos) << frames[0].function;
  EXPECT_TRUE(frames[0].inlined);
  EXPECT_EQ(frames[0].line, place.line);
  EXPECT_EQ(BaseName(frames[0].file), "symbolize_test.cc");
  EXPECT_EQ(frames[1].function, "ddbg::analyzer::(anonymous namespace)::OuterFunction()");
  EXPECT_FALSE(frames[1].inlined);
  EXPECT_EQ(frames[1].line, outer_line);
  EXPECT_EQ(BaseName(frames[1].file), "symbolize_test.cc");
  EXPECT_EQ(frames[1].address, place.address);
  EXPECT_TRUE(symbolizer.caveats().empty());
}

TEST(Symbolizer, NamesFunctionsOfSharedLibrariesWithoutDebugInformation) {
  Symbolizer symbolizer;
  uint64_t inside = reinterpret_cast<uint64_t>(&getpid) + 1;
  std::vector<Frame> frames = symbolizer.Resolve(ThisProcess(), inside);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_NE(frames[0].function.find("getpid"), std::string::npos) << frames[0].function;
  EXPECT_EQ(frames[0].module.rfind("libc", 0), 0u) << frames[0].module;
}

#if defined(__x86_64__)
// Calls, and what is called: named by the symbol at its entry only. The size of the symbol ends before the code does,
// as that of a function whose cold part lies elsewhere.
asm(R"(
.text
.globl ddbg_test_split, ddbg_test_caller, ddbg_test_cold, ddbg_test_return
.type ddbg_test_split, @function
ddbg_test_split: jmp .Lddbg_test_cold
.size ddbg_test_split, . - ddbg_test_split
.zero 64, 0x90
.Lddbg_test_cold: nop
ret
.zero 64, 0x90
.type ddbg_test_caller, @function
ddbg_test_caller: call ddbg_test_split
ddbg_test_return: ret
.size ddbg_test_caller, . - ddbg_test_caller
.data
.globl ddbg_test_cold
ddbg_test_cold: .quad .Lddbg_test_cold
.text
)");
extern "C" char ddbg_test_return[];
extern "C" uint64_t ddbg_test_cold;

TEST(Symbolizer, NamesAFunctionWithoutASymbolByItsCall) {
  Process process = ThisProcess();
  process.stacks_by_id[1] = {ddbg_test_cold + 40, reinterpret_cast<uint64_t>(ddbg_test_return)};
  Symbolizer symbolizer;
  std::vector<Frame> frames = symbolizer.ResolveStack(process, 1);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].function, "ddbg_test_split");
  EXPECT_EQ(frames[1].function, "ddbg_test_caller");
}
#endif

TEST(Symbolizer, AddressOutsideOfAllModulesIsJustAnAddress) {
  Symbolizer symbolizer;
  std::vector<Frame> frames = symbolizer.Resolve(ThisProcess(), 8);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].address, 8u);
  EXPECT_TRUE(frames[0].function.empty() && frames[0].module.empty());
}

Process WithMainModule(void (*change)(Module*)) {
  Process process = ThisProcess();
  for (Module& module : process.modules) {
    if (module.path == std::filesystem::read_symlink("/proc/self/exe")) change(&module);
  }
  return process;
}

TEST(Symbolizer, FileWithAnotherBuildIdIsNotBelieved) {
  Process process = WithMainModule([](Module* m) { m->build_id = "other"; });
  Symbolizer symbolizer;
  uint64_t address = OuterFunction().first.address;
  for (int twice = 0; twice < 2; ++twice) {
    std::vector<Frame> frames = symbolizer.Resolve(process, address);
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_TRUE(frames[0].function.empty());
    EXPECT_EQ(frames[0].line, 0);
    EXPECT_FALSE(frames[0].module.empty());
    EXPECT_NE(frames[0].offset, 0u);
  }
  ASSERT_EQ(symbolizer.caveats().size(), 1u);
  EXPECT_NE(symbolizer.caveats()[0].find("build-id"), std::string::npos);
}

TEST(Symbolizer, MissingAndBrokenFilesAreOneCaveatEach) {
  ScratchDir dir;
  static std::string broken;
  broken = dir / "broken.so";
  FILE* file = fopen(broken.c_str(), "w");
  fputs("\177ELF and no more", file);
  fclose(file);
  Symbolizer symbolizer;
  uint64_t address = OuterFunction().first.address;
  symbolizer.Resolve(WithMainModule([](Module* m) { m->path = "/nowhere/at/all.so"; }), address);
  symbolizer.Resolve(WithMainModule([](Module* m) { m->path = broken; }), address);
  ASSERT_EQ(symbolizer.caveats().size(), 2u);
  EXPECT_NE(symbolizer.caveats()[0].find("/nowhere/at/all.so"), std::string::npos);
}

TEST(Symbolizer, NeverAsksAServer) {
  setenv("DEBUGINFOD_URLS", "http://192.0.2.1/", 1);  // TEST-NET-1: nobody answers
  Symbolizer symbolizer;
  EXPECT_EQ(getenv("DEBUGINFOD_URLS"), nullptr);
}

TEST(Symbolizer, ResolvesRelativePathsAgainstTheWorkingDirectory) {
  static std::string name;
  std::filesystem::path exe = std::filesystem::read_symlink("/proc/self/exe");
  name = "./" + exe.filename().string();
  Process process = WithMainModule([](Module* m) { m->path = name; });
  process.cwd = exe.parent_path();
  Symbolizer symbolizer;
  EXPECT_EQ(symbolizer.Resolve(process, OuterFunction().first.address).size(), 2u);
}

TEST(ModuleRole, TellsLibrariesByName) {
  EXPECT_EQ(RoleOfModule("/home/me/solver"), ModuleRole::kApplication);
  EXPECT_EQ(RoleOfModule("/usr/lib/libhydro.so.3"), ModuleRole::kApplication);
  for (const char* mpi :
       {"/usr/lib/x86_64-linux-gnu/libmpi.so.40", "/usr/lib/libmpich.so.12", "/l/libmpi_mpifh.so.40",
        "/l/libmpi_usempif08.so.40", "/l/libopen-pal.so.40", "/l/libopen-rte.so.40", "/l/libpmix.so.2",
        "/l/openmpi/lib/openmpi3/mca_coll_tuned.so", "/l/libucp.so.0", "/l/libfabric.so.1"}) {
    EXPECT_EQ(RoleOfModule(mpi), ModuleRole::kMpi) << mpi;
  }
  EXPECT_EQ(RoleOfModule("/opt/ddbg/lib/libddbg.so"), ModuleRole::kRecorder);
  for (const char* python : {"/usr/bin/python3.11", "/usr/lib/libpython3.11.so.1.0",
                             "/usr/lib/python3/dist-packages/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so"}) {
    EXPECT_EQ(RoleOfModule(python), ModuleRole::kInterpreter) << python;
  }
  for (const char* system : {"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "linux-vdso.so.1"}) {
    EXPECT_EQ(RoleOfModule(system), ModuleRole::kSystem) << system;
  }
}

// A stack of (function, module path, line).
struct Line {
  const char* function;
  const char* path;
  int line = 0;
};

StackView Fold(const std::vector<Line>& lines) {
  std::vector<Frame> frames;
  std::vector<std::string> paths;
  for (const Line& line : lines) {
    Frame frame;
    frame.function = line.function;
    frame.module = BaseName(line.path);
    frame.line = line.line;
    if (line.line) frame.file = "/src/file.c";
    frames.push_back(frame);
    paths.push_back(line.path);
  }
  return FoldStack(frames, paths);
}

std::vector<std::string> Functions(const StackView& view) {
  std::vector<std::string> names;
  for (const Frame& frame : view.frames) names.push_back(frame.function);
  return names;
}

TEST(StackView, FoldsRecorderMpiAndStart) {
  StackView view = Fold({{"MPI_Allreduce", "/o/libddbg.so"},
                         {"mpi_allreduce_", "/l/libmpi_mpifh.so.40"},
                         {"step", "/home/me/solver", 42},
                         {"main", "/home/me/solver", 7},
                         {"__libc_start_call_main", "/lib/libc.so.6"},
                         {"__libc_start_main", "/lib/libc.so.6"},
                         {"_start", "/home/me/solver"}});
  EXPECT_EQ(Functions(view), (std::vector<std::string>{"step", "main"}));
  ASSERT_EQ(view.source, 0);
  EXPECT_EQ(DescribeFrame(view.source_frame()), "step() at file.c:42");
  EXPECT_FALSE(view.from_exit);
}

TEST(StackView, SourceIsTheInnermostApplicationFrameWithALine) {
  StackView view = Fold({{"MPI_Bcast", "/o/libddbg.so"},
                         {"wrap", "/usr/lib/libvendor.so"},
                         {"qsort", "/lib/libc.so.6"},
                         {"solve", "/home/me/solver", 12},
                         {"main", "/home/me/solver", 7}});
  EXPECT_EQ(DescribeFrame(view.source_frame()), "solve() at file.c:12");
}

TEST(StackView, WithoutLinesTheInnermostApplicationFrameIsTheSource) {
  StackView view = Fold({{"MPI_Bcast", "/o/libddbg.so"},
                         {"__pyx_pw_bcast", "/d/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so"},
                         {"", "/usr/lib/libvendor.so"},
                         {"_PyEval_EvalFrameDefault", "/usr/bin/python3.11"}});
  EXPECT_EQ(DescribeFrame(view.source_frame()), "libvendor.so+0x0");
}

TEST(StackView, InterpreterFramesAreTheSourceOnlyIfThereIsNothingElse) {
  StackView view = Fold({{"__pyx_pw_bcast", "/d/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so"},
                         {"_PyEval_EvalFrameDefault", "/usr/bin/python3.11"}});
  EXPECT_EQ(view.source, 0);
  EXPECT_EQ(Fold({{"MPI_Bcast", "/o/libddbg.so"}}).source, -1);
  EXPECT_EQ(DescribeFrame(nullptr), "");
}

TEST(StackView, TellsCallsFromExit) {
  EXPECT_TRUE(Fold({{"MPI_Finalize", "/o/libddbg.so"},
                    {"__pyx_atexit", "/d/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so"},
                    {"Py_FinalizeEx", "/usr/bin/python3.11"},
                    {"Py_RunMain", "/usr/bin/python3.11"}})
                  .from_exit);
  StackView view = Fold({{"MPI_Finalize", "/o/libddbg.so"},
                         {"at_end", "/home/me/solver", 3},
                         {"__run_exit_handlers", "/lib/libc.so.6"},
                         {"exit", "/lib/libc.so.6"},
                         {"__libc_start_call_main", "/lib/libc.so.6"},
                         {"_start", "/home/me/solver"}});
  EXPECT_TRUE(view.from_exit);
  EXPECT_EQ(Functions(view), (std::vector<std::string>{"at_end", "__run_exit_handlers", "exit"}));
  // A function of the program that is called so is none.
  EXPECT_FALSE(Fold({{"exit", "/home/me/solver", 3}}).from_exit);
}

Process WithStack(uint64_t bias, const std::vector<uint64_t>& offsets) {
  Process process;
  process.modules = {{"/home/me/solver", bias, bias, bias + 0x10000, "id-1"},
                     {"/l/libmpi.so.40", bias + 0x20000, bias + 0x20000, bias + 0x30000, "id-2"},
                     {"/lib/libc.so.6", bias + 0x40000, bias + 0x40000, bias + 0x50000, "id-3"}};
  for (uint64_t offset : offsets) process.stacks_by_id[1].push_back(bias + offset);
  return process;
}

TEST(SiteKey, IsEqualInProcessesAtOtherAddresses) {
  Process a = WithStack(0x500000, {0x20010, 0x100, 0x200, 0x40010});
  Process b = WithStack(0x7f0000, {0x20990, 0x100, 0x200, 0x40990});  // MPI and libc took another way
  EXPECT_NE(SiteKey(a, 1), 0u);
  EXPECT_EQ(SiteKey(a, 1), SiteKey(b, 1));
  EXPECT_EQ(NormalizedStack(a, 1), NormalizedStack(b, 1));
  EXPECT_EQ(NormalizedStack(a, 1).size(), 2u);
  EXPECT_EQ(SiteKeys(a).at(1), SiteKey(a, 1));
}

TEST(SiteKey, DiffersByOffsetAndDepth) {
  uint64_t key = SiteKey(WithStack(0x500000, {0x100, 0x200}), 1);
  EXPECT_NE(key, SiteKey(WithStack(0x500000, {0x108, 0x200}), 1));
  EXPECT_NE(key, SiteKey(WithStack(0x500000, {0x100}), 1));
  EXPECT_NE(key, SiteKey(WithStack(0x500000, {0x200, 0x100}), 1));
}

TEST(SiteKey, IsZeroWithoutAnApplicationFrame) {
  Process process = WithStack(0x500000, {0x20010, 0x40010});
  EXPECT_EQ(SiteKey(process, 1), 0u);
  EXPECT_EQ(SiteKey(process, 99), 0u);
}

}  // namespace
}  // namespace ddbg::analyzer
