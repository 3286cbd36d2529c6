#include "analyzer/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "analyzer/launch/program_check.h"

namespace ddbg::analyzer {
namespace {

namespace fs = std::filesystem;

constexpr int kCollectorStartMs = 5000;

// Open MPI hands these on to the ranks of other nodes; other launchers hand on all. "_internal" is the variable behind
// mpirun's parameter files (-am): unlike mca_base_env_list itself it may be used together with mpirun -x.
constexpr char kEnvironmentList[] = "OMPI_MCA_mca_base_env_list";
constexpr char kInternalEnvironmentList[] = "OMPI_MCA_mca_base_env_list_internal";

std::string ReadStart(const std::string& path, size_t bytes) {
  std::string text(bytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

bool Mentions(const std::string& text) { return text.find("mca_base_env_list") != std::string::npos; }

// Does the job use mca_base_env_list in its own right, on the command line, in its script or in the user's parameters?
// Open MPI refuses to start a job that has it twice.
bool UsesEnvironmentList(const std::vector<std::string>& command, const Environment& environment) {
  for (const std::string& word : command) {
    if (Mentions(word)) return true;
    std::string start = word.find('/') != word.npos || &word == &command[0]
                            ? ReadStart(FindProgram(word, environment), 1 << 20)
                            : std::string();
    if (start.starts_with("#!") && Mentions(start)) return true;
  }
  std::string home = environment.GetOr("HOME", "");
  return !home.empty() && Mentions(ReadStart(home + "/.openmpi/mca-params.conf", 1 << 20));
}

std::string Append(const std::optional<std::string>& list, const std::string& more) {
  return list && !list->empty() ? *list + ";" + more : more;
}

void PassToOtherNodes(const std::vector<std::string>& command, Environment* environment) {
  std::string names;
  for (const char* name : {"LD_PRELOAD", "DDBG_DIR", "DDBG_RUN_ID", "DDBG_SOCKET", "DDBG_STACKS", "DDBG_COLLECTOR",
                           "DDBG", "NVTX_INJECTION64_PATH"}) {
    if (environment->Get(name)) names = Append(names, name);  // an unset one makes mpirun complain
  }
  if (environment->Get(kEnvironmentList)) {
    environment->Set(kEnvironmentList, Append(environment->Get(kEnvironmentList), names));
  } else if (!UsesEnvironmentList(command, *environment)) {
    environment->Set(kInternalEnvironmentList, Append(environment->Get(kInternalEnvironmentList), names));
  }
}

bool NamesLibrary(const std::string& preload, const std::string& library) {
  size_t at = 0;
  while (at <= preload.size()) {
    size_t end = std::min(preload.find_first_of(": ", at), preload.size());
    if (preload.compare(at, end - at, library) == 0) return true;
    at = end + 1;
  }
  return false;
}

// NVTX has one place for a tool. NVIDIA's profilers take it for the programs that they start, or hold it already.
bool IsForProfiler(const std::vector<std::string>& command, const Environment& environment) {
  if (environment.Get("NVTX_INJECTION64_PATH") || environment.Get("CUDA_INJECTION64_PATH")) return true;
  return std::any_of(command.begin(), command.end(), [](const std::string& word) {
    std::string name = fs::path(word).filename();
    return name == "nsys" || name == "ncu" || name == "nv-nsight-cu-cli" || name == "nvprof";
  });
}

// The library does it by itself in an interpreter whose program is called python; so also in programs that Python is
// part of. Other nodes have folders of their own.
void LeadToBridge(const std::string& library, Environment* environment) {
  std::string off = environment->GetOr("DDBG_PYTHON", "1");
  fs::path folder = fs::path(library).parent_path() / "ddbg/python";
  std::error_code error;
  if (off == "0" || off == "off" || !fs::is_regular_file(folder / "sitecustomize.py", error)) return;
  std::string others = environment->GetOr("PYTHONPATH", "");
  if (folder.string().find(':') != std::string::npos || NamesLibrary(others, folder.string())) return;
  environment->Set("PYTHONPATH", others.empty() ? folder.string() : folder.string() + ":" + others);
}

// Waits for a child without missing other children: by pidfd.
bool EndsWithin(pid_t pid, int timeout_ms) {
  int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return true;  // waitpid will wait
  pollfd ended = {fd, POLLIN, 0};
  int n;
  do {
    n = poll(&ended, 1, timeout_ms);
  } while (n < 0 && errno == EINTR);
  close(fd);
  return n != 0;
}

}  // namespace

std::string ProgramDirectory() {
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? "." : program.parent_path().string();
}

Result<std::string> FindLibrary(const std::string& program_dir, const Environment& environment) {
  std::error_code error;
  if (auto given = environment.Get("DDBG_LIBRARY"); given && !given->empty()) {
    if (fs::is_regular_file(*given, error)) return fs::absolute(*given).string();
    return Error{fmt::format("DDBG_LIBRARY names {}, which is no file", *given)};
  }
  for (const char* place : {"../lib/libddbg.so", "libddbg.so", "../lib64/libddbg.so", "../shim/libddbg.so"}) {
    fs::path library = fs::path(program_dir) / place;
    if (fs::is_regular_file(library, error)) return fs::canonical(library).string();
  }
  return Error{fmt::format("libddbg.so is neither in {}/../lib nor in {}; DDBG_LIBRARY can say where it is",
                           program_dir, program_dir)};
}

std::string FindCollector(const std::string& program_dir, const Environment& environment) {
  if (auto given = environment.Get("DDBG_COLLECTOR"); given && !given->empty()) return *given;
  for (const char* place : {"ddbg-collector", "../bin/ddbg-collector", "../collector/ddbg-collector"}) {
    std::string path = program_dir + "/" + place;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

void PrepareEnvironment(const Preload& preload, const std::vector<std::string>& command, Environment* environment) {
  environment->Set("DDBG_DIR", preload.dir);
  environment->Set("DDBG_RUN_ID", preload.run_id);
  std::string others = environment->GetOr("LD_PRELOAD", "");
  if (!NamesLibrary(others, preload.library)) {
    environment->Set("LD_PRELOAD", others.empty() ? preload.library : preload.library + ":" + others);
  }
  if (!IsForProfiler(command, *environment)) environment->Set("NVTX_INJECTION64_PATH", preload.library);
  LeadToBridge(preload.library, environment);
  PassToOtherNodes(command, environment);
}

void LetLibraryFindCollector(const std::string& library, const std::string& collector, Environment* environment) {
  fs::path dir = fs::path(library).parent_path();
  for (const char* place : {"ddbg-collector", "../bin/ddbg-collector"}) {
    if (access((dir / place).c_str(), X_OK) == 0) return;
  }
  if (!collector.empty()) environment->Set("DDBG_COLLECTOR", collector);
}

Result<void> StartCollector(const std::string& collector, const Environment& environment) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::string path = collector;
  char* argv[] = {path.data(), nullptr};
  std::vector<char*> envp = environment.Pointers();
  pid_t pid = -1;
  int error = posix_spawn(&pid, collector.c_str(), &files, nullptr, argv, envp.data());
  posix_spawn_file_actions_destroy(&files);
  if (error) return Error{fmt::format("{} cannot be started: {}", collector, strerror(error)), error};
  if (!EndsWithin(pid, kCollectorStartMs)) {
    return Error{fmt::format("{} did not go to the background within {} s", collector, kCollectorStartMs / 1000)};
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return Error{fmt::format("{} could not start (status {}); its own message says why", collector,
                           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status))};
}

}  // namespace ddbg::analyzer
