#include "analyzer/launch/program_check.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/model/module_role.h"

namespace ddbg::analyzer {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kOwnMachine = EM_X86_64;
constexpr std::string_view kOwnMachineName = "x86-64";
#elif defined(__aarch64__)
constexpr uint16_t kOwnMachine = EM_AARCH64;
constexpr std::string_view kOwnMachineName = "aarch64";
#else
#error "which machine is this?"
#endif

constexpr std::string_view kLaunchers[] = {
    "mpirun",        "mpiexec",        "orterun",         "prterun",      "prun",
    "mpiexec.hydra", "srun",           "aprun",           "jsrun",        "env",
    "nice",          "time",           "timeout",         "numactl",      "taskset",
    "stdbuf",        "setsid",         "nohup",           "xterm",        "sh",
    "bash",          "mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich"};

constexpr uint64_t kMostSymbols = 1 << 22;

bool IsExecutableFile(const std::string& path) {
  struct stat file;
  return stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && access(path.c_str(), X_OK) == 0;
}

class File {
 public:
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  template <typename T>
  bool Read(uint64_t offset, T* out) const {
    return ReadAll(offset, out, sizeof(T));
  }

  bool ReadAll(uint64_t offset, void* out, size_t bytes) const {
    return fd_ >= 0 && pread(fd_, out, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }

 private:
  int fd_;
};

// A program that asks for no dynamic linker gets none, and so no preload. nullopt: the file is cut off.
std::optional<bool> HasInterpreter(const File& file, const Elf64_Ehdr& header) {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!file.Read(header.e_phoff + uint64_t{i} * header.e_phentsize, &segment)) return std::nullopt;
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

// One of the program's own functions by this name, in the table that a debugger reads: nothing is there of a stripped
// one.
bool Defines(const File& file, const Elf64_Ehdr& header, std::string_view name) {
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section, names;
    if (!file.Read(header.e_shoff + uint64_t{i} * header.e_shentsize, &section)) return false;
    if (section.sh_type != SHT_SYMTAB || section.sh_entsize != sizeof(Elf64_Sym)) continue;
    if (!file.Read(header.e_shoff + uint64_t{section.sh_link} * header.e_shentsize, &names)) return false;
    std::vector<Elf64_Sym> symbols(std::min<uint64_t>(section.sh_size / sizeof(Elf64_Sym), kMostSymbols));
    std::vector<char> text(std::min<uint64_t>(names.sh_size, kMostSymbols * 64));
    if (!file.ReadAll(section.sh_offset, symbols.data(), symbols.size() * sizeof(Elf64_Sym))) return false;
    if (!file.ReadAll(names.sh_offset, text.data(), text.size())) return false;
    for (const Elf64_Sym& symbol : symbols) {
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_name + name.size() >= text.size()) continue;
      if (name == std::string_view(&text[symbol.st_name], name.size()) && !text[symbol.st_name + name.size()])
        return true;
    }
  }
  return false;
}

// As the kernel decides it (AT_SECURE): then the dynamic linker ignores LD_PRELOAD.
bool GainsRights(const std::string& path) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0) return false;
  if ((file.st_mode & S_ISUID) && file.st_uid != geteuid()) return true;
  if ((file.st_mode & S_ISGID) && (file.st_mode & S_IXGRP) && file.st_gid != getegid()) return true;
  return geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

std::string WhyElfNotTraceable(const std::string& path, const File& file) {
  Elf64_Ehdr header;
  if (!file.Read(0, &header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "";
  if (header.e_ident[EI_CLASS] == ELFCLASS32) {
    return fmt::format(
        "{} is a 32-bit program: it cannot load the 64-bit libddbg.so, and its calls are not recorded; rebuild it as a "
        "64-bit program (without -m32) to have them recorded",
        path);
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kOwnMachine) {
    return fmt::format(
        "{} is not a 64-bit {} program and cannot load this libddbg.so; rebuild it for this machine, or use a "
        "ddbg that was built for that one",
        path, kOwnMachineName);
  }
  if (HasInterpreter(file, header) == false) {
    return fmt::format(
        "{} is statically linked: LD_PRELOAD cannot reach it; link it dynamically (without -static) to have its calls "
        "recorded",
        path);
  }
  if (Defines(file, header, "PMPI_Init")) {
    return fmt::format(
        "{} has its MPI linked into it: its calls do not pass the dynamic linker, and LD_PRELOAD cannot reach them; "
        "link "
        "it to the shared library (libmpi.so, libmpich.so) to have its calls recorded",
        path);
  }
  return "";
}

bool IsLauncher(const std::string& path) {
  std::string_view name = BaseName(path);
  return std::find(std::begin(kLaunchers), std::end(kLaunchers), name) != std::end(kLaunchers);
}

}  // namespace

std::string FindProgram(const std::string& name, const Environment& environment) {
  if (name.find('/') != name.npos) return IsExecutableFile(name) ? name : "";
  std::string path = environment.GetOr("PATH", "/usr/local/bin:/bin:/usr/bin");
  for (size_t at = 0; at <= path.size() && !name.empty();) {
    size_t end = std::min(path.find(':', at), path.size());
    std::string dir = path.substr(at, end - at);
    std::string file = (dir.empty() ? "." : dir) + "/" + name;
    if (IsExecutableFile(file)) return file;
    at = end + 1;
  }
  return "";
}

std::string WhyNotTraceable(const std::string& path) {
  std::string why = WhyElfNotTraceable(path, File(path));
  if (!why.empty() || !GainsRights(path)) return why;
  return fmt::format(
      "{} gains rights when it starts (setuid or capabilities), so the dynamic linker ignores LD_PRELOAD; run a copy "
      "of it without them to have its calls recorded",
      path);
}

std::string WhyNotTraceable(const std::vector<std::string>& command, const Environment& environment) {
  if (command.empty()) return "";
  std::string program = FindProgram(command[0], environment);
  if (program.empty()) return "";  // starting it says so
  std::string why = WhyNotTraceable(program);
  if (!why.empty() || !IsLauncher(program)) return why;
  for (size_t i = 1; i < command.size(); ++i) {
    if (command[i].find('/') == std::string::npos || !IsExecutableFile(command[i])) continue;
    return WhyNotTraceable(command[i]);
  }
  return "";
}

}  // namespace ddbg::analyzer
