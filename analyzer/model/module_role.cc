#include "analyzer/model/module_role.h"

#include <algorithm>
#include <initializer_list>

namespace ddbg::analyzer {
namespace {

bool StartsWithOneOf(std::string_view name, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view s) { return name.starts_with(s); });
}

// Open MPI 3 to 5, the MPICH family and the transports they load. "mca_" are Open MPI's plug-ins; a slash in the middle
// tells UCX's and libfabric's plug-in folders.
bool IsNcclOrCuda(std::string_view name) {
  return StartsWithOneOf(name, {"libnccl", "librccl", "libcudart.", "libcuda.", "libnvidia-", "libcupti."});
}

bool IsMpi(std::string_view path, std::string_view name) {
  return StartsWithOneOf(name, {"libmpi",     "libpmpi",    "libopen-pal", "libopen-rte", "libprrte", "libpmix",
                                "libpmi.so",  "libpmi2.so", "mca_",        "libmca_",     "libucp.",  "libuct.",
                                "libucs.",    "libucm.",    "libuct_",     "libucs_",     "libucm_",  "libucx_",
                                "libfabric.", "libhwloc.",  "libevent",    "libhcoll",    "libpsm",   "libibverbs.",
                                "libmlx5.",   "librdmacm.", "libyaksa",    "libopa.so",   "libhydra"}) ||
         path.find("/openmpi/mca_") != path.npos || path.find("/ucx/libuc") != path.npos ||
         path.find("/libfabric/") != path.npos;
}

bool IsSystem(std::string_view name) {
  return StartsWithOneOf(name, {"libc.so",    "libc-",     "libpthread",  "ld-linux",    "ld-2.",    "ld64.",
                                "libstdc++.", "libgcc_s.", "libm.so",     "libm-",       "libdl.",   "libdl-",
                                "librt.",     "librt-",    "linux-vdso",  "linux-gate",  "[vdso]",   "libgomp.",
                                "libomp.",    "libiomp",   "libgfortran", "libquadmath", "libc++",   "ld-musl",
                                "libflang",   "libifcore", "libasan.",    "libtsan.",    "libubsan."});
}

bool IsInterpreter(std::string_view path, std::string_view name) {
  return StartsWithOneOf(name, {"libpython", "python2", "python3", "MPI.cpython", "MPI.abi3", "_ctypes.", "libffi.",
                                "libjulia", "sys.so", "libtorch", "libc10", "_C.cpython"}) ||
         name == "python" || name == "julia" || path.find("/mpi4py/") != path.npos;
}

}  // namespace

std::string_view BaseName(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

ModuleRole RoleOfModule(std::string_view path) {
  std::string_view name = BaseName(path);
  if (StartsWithOneOf(name, {"libddbg", "libunwind."})) return ModuleRole::kRecorder;
  if (IsInterpreter(path, name)) return ModuleRole::kInterpreter;
  if (IsMpi(path, name) || IsNcclOrCuda(name)) return ModuleRole::kMpi;
  if (IsSystem(name)) return ModuleRole::kSystem;
  return ModuleRole::kApplication;
}

bool IsBridge(std::string_view file) { return file.find("/ddbg_bridge/") != file.npos; }

bool IsPythonLibrary(std::string_view file) {
  if (file.starts_with("<frozen ")) return true;
  return file.find("/site-packages/") != file.npos || file.find("/dist-packages/") != file.npos ||
         file.find("/lib/python3") != file.npos || IsBridge(file);
}

const Module* FindModule(const Process& process, uint64_t address) {
  const std::vector<Module>& modules = process.modules;
  auto after = std::upper_bound(modules.begin(), modules.end(), address,
                                [](uint64_t a, const Module& m) { return a < m.start; });
  if (after == modules.begin()) return nullptr;
  const Module& module = *std::prev(after);
  return address < module.end ? &module : nullptr;
}

}  // namespace ddbg::analyzer
