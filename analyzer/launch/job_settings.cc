#include "analyzer/launch/job_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <tuple>

#include "analyzer/launch/tf_config.h"
#include "analyzer/model/module_role.h"

namespace ddbg::analyzer {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::string_view kAddresses[] = {"MASTER_ADDR", "MASTER_PORT", "NCCL_COMM_ID"};
constexpr std::string_view kOfNccl[] = {"NCCL_", "RCCL_", "TORCH_NCCL_"};
constexpr std::string_view kOfMpi[] = {"OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", "MPICH_", "MPIR_CVAR_", "I_MPI_",
                                       "UCX_",      "UCC_",      "HCOLL_",    "PSM2_",  "PSM3_",      "SHARP_COLL_"};
constexpr std::string_view kOfBoth[] = {"FI_", "GLOO_"};
constexpr std::string_view kOthers[] = {"WORLD_SIZE", "TORCHELASTIC_RUN_ID", "CUDA_DEVICE_ORDER",
                                        "NVIDIA_TF32_OVERRIDE"};

// Set by launchers for each process or node, or of no weight for who meets whom.
constexpr std::string_view kLaunchers[] = {"OMPI_MCA_ess",
                                           "OMPI_MCA_orte",
                                           "OMPI_MCA_prte",
                                           "OMPI_MCA_pmix",
                                           "OMPI_MCA_shmem",
                                           "OMPI_MCA_initial_wdir",
                                           "OMPI_MCA_mpi_yield",
                                           "OMPI_MCA_hwloc",
                                           "OMPI_MCA_rmaps",
                                           "OMPI_MCA_plm",
                                           "OMPI_MCA_routed",
                                           "PRTE_MCA_",
                                           "PMIX_MCA_mca_base_component_show",
                                           "I_MPI_INFO",
                                           "I_MPI_HYDRA",
                                           "I_MPI_PIN",
                                           "I_MPI_MPIRUN",
                                           "NCCL_HOSTID"};
constexpr std::string_view kOfNoWeight[] = {"DEBUG", "HOSTNAME", "LOG_", "_LOG", "STATS", "PROFIL", "VERBOSE"};

constexpr std::string_view kSharedLibraries[] = {"libmpi.",  "libmpich.",      "libmpi_",       "libnccl.",
                                                 "librccl.", "libtorch_cuda.", "libtorch_cpu.", "libtorch_python.",
                                                 "libpmix.", "libucp.",        "libfabric."};

bool StartsWithOneOf(std::string_view name, Names starts) {
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view s) { return name.starts_with(s); });
}

bool IsOneOf(std::string_view name, Names names) { return std::find(names.begin(), names.end(), name) != names.end(); }

// Libraries whose build matters to whether ranks understand each other.
bool IsShared(std::string_view name) { return StartsWithOneOf(name, kSharedLibraries); }

std::string Hex(const std::string& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size() && i < 6; ++i)
    text += fmt::format("{:02x}", static_cast<unsigned char>(bytes[i]));
  return text;
}

void AddVariables(const Process& process, std::vector<JobSetting>* settings) {
  for (const KeyValue& variable : process.environment) {
    if (!OughtToBeEqual(variable.key)) continue;
    JobSetting::Sort sort = IsOneOf(variable.key, kAddresses) ? JobSetting::kAddress : JobSetting::kVariable;
    settings->push_back({sort, variable.key, variable.value});
  }
  if (std::optional<TfConfig> config = TfConfigOf(process))
    settings->push_back({JobSetting::kAddress, kTfCluster, config->cluster});
}

void AddLibraries(const Process& process, std::vector<JobSetting>* settings) {
  if (!process.mpi_abi.empty())
    settings->push_back(
        {JobSetting::kVersion, "MPI's version", process.mpi_version.empty() ? process.mpi_abi : process.mpi_version});
  for (const Library& library : process.libraries)
    if (!library.version.empty())
      settings->push_back({JobSetting::kVersion, library.api + "'s version", library.version});
}

void AddBuilds(const Process& process, std::vector<JobSetting>* settings) {
  for (const Module& module : process.modules) {
    std::string_view name = BaseName(module.path);
    bool program = !process.exe.empty() && module.path == process.exe;
    if (module.build_id.empty() || (!program && !IsShared(name))) continue;
    settings->push_back({JobSetting::kBuild, fmt::format("the build of {}", name), Hex(module.build_id)});
  }
  if (!process.git_commit.empty())
    settings->push_back(
        {JobSetting::kBuild, "the git commit of the working directory", process.git_commit.substr(0, 12)});
}

}  // namespace

bool OughtToBeEqual(std::string_view variable) {
  if (IsOneOf(variable, kAddresses)) return true;
  if (StartsWithOneOf(variable, kLaunchers)) return false;
  for (std::string_view word : kOfNoWeight)
    if (variable.find(word) != variable.npos) return false;
  return StartsWithOneOf(variable, kOfNccl) || StartsWithOneOf(variable, kOfMpi) ||
         StartsWithOneOf(variable, kOfBoth) || IsOneOf(variable, kOthers);
}

bool Concerns(const JobSetting& setting, SettingReader reader) {
  if (reader == SettingReader::kAny) return true;
  bool mpi = reader == SettingReader::kMpi;
  if (setting.sort == JobSetting::kVariable || setting.sort == JobSetting::kAddress)
    return !StartsWithOneOf(setting.key, mpi ? Names(kOfNccl) : Names(kOfMpi));
  if (setting.sort == JobSetting::kVersion) return setting.key == (mpi ? "MPI's version" : "NCCL's version");
  return mpi ? setting.key.find("libnccl") == std::string::npos : setting.key.find("libmpi") == std::string::npos;
}

std::vector<JobSetting> SettingsOf(const Process& process) {
  std::vector<JobSetting> settings;
  AddLibraries(process, &settings);
  AddBuilds(process, &settings);
  AddVariables(process, &settings);
  auto key = [](const JobSetting& s) { return std::tie(s.sort, s.key); };
  std::stable_sort(settings.begin(), settings.end(),
                   [&](const JobSetting& a, const JobSetting& b) { return key(a) < key(b); });
  auto same = [&](const JobSetting& a, const JobSetting& b) { return key(a) == key(b); };
  settings.erase(std::unique(settings.begin(), settings.end(), same), settings.end());
  return settings;
}

}  // namespace ddbg::analyzer
