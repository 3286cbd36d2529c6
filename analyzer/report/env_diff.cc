#include "analyzer/report/env_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <unordered_map>

#include "analyzer/launch/job_settings.h"
#include "analyzer/launch/tf_config.h"
#include "analyzer/model/module_role.h"

namespace ddbg::analyzer {
namespace {

std::string Hex(std::string_view bytes) {
  std::string text;
  for (unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// As a shell would read it again.
std::string CommandLine(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$`*?;&|<>()") == word.npos;
    std::string quoted = word;
    for (size_t at = 0; (at = quoted.find('\'', at)) != quoted.npos; at += 4) quoted.replace(at, 1, "'\\''");
    line += (line.empty() ? "" : " ") + (plain ? word : "'" + quoted + "'");
  }
  return line;
}

class Collector {
 public:
  explicit Collector(const Run& run) : run_(run) {}

  Facts Collect() {
    std::vector<size_t> processes = RankProcesses(run_);
    for (size_t index : processes) AddProcess(index);
    Facts facts;
    for (auto& [name, by_text] : facts_) {
      std::vector<FactValue>& values = facts[name];
      std::vector<size_t> having;
      for (auto& [text, who] : by_text) {
        having.insert(having.end(), who.begin(), who.end());
        values.push_back({true, text, std::move(who)});
      }
      std::sort(having.begin(), having.end());
      std::vector<size_t> lacking;
      std::set_difference(processes.begin(), processes.end(), having.begin(), having.end(),
                          std::back_inserter(lacking));
      if (!lacking.empty()) values.push_back({false, "", std::move(lacking)});
      std::stable_sort(values.begin(), values.end(),
                       [](const FactValue& a, const FactValue& b) { return a.processes.size() > b.processes.size(); });
    }
    return facts;
  }

 private:
  void Put(size_t process, const char* area, std::string name, const std::string& text) {
    std::vector<size_t>& who = facts_[{area, std::move(name)}][text];
    if (who.empty() || who.back() != process) who.push_back(process);
  }

  void PutKnown(size_t process, const char* area, const char* name, const std::string& text) {
    if (!text.empty()) Put(process, area, name, text);
  }

  void AddProcess(size_t i) {
    const Process& p = run_.processes[i];
    for (const KeyValue& variable : p.environment) Put(i, "environment", variable.key, variable.value);
    PutKnown(i, "program", "executable", p.exe);
    if (!p.argv.empty()) Put(i, "program", "command line", CommandLine(p.argv));
    PutKnown(i, "program", "working directory", p.cwd);
    PutKnown(i, "program", "git commit", p.git_commit);
    PutKnown(i, "host", "name", p.host);
    PutKnown(i, "host", "boot", p.boot_id);
    PutKnown(i, "launcher", "name", p.launcher);
    PutKnown(i, "launcher", "parent process", p.parent);
    if (p.rank() >= 0) Put(i, "launcher", "rank", std::to_string(p.rank()));
    if (p.local_rank >= 0) Put(i, "launcher", "local rank", std::to_string(p.local_rank));
    if (p.launcher_world_size >= 0) Put(i, "launcher", "world size", std::to_string(p.launcher_world_size));
    if (std::optional<TfConfig> config = TfConfigOf(p)) PutKnown(i, "launcher", kTfCluster, config->cluster);
    Put(i, "launcher", "attempt", std::to_string(p.attempt_id));
    PutKnown(i, "recording", "clock", p.clock);
    PutKnown(i, "recording", "stacks", p.stacks);
    PutKnown(i, "recording", "ddbg version", p.ddbg_version);
    for (const Level& level : p.levels)
      Put(i, "recording", level.name, (level.on ? "on" : "off") + (level.why.empty() ? "" : ": " + level.why));
    AddLibraries(i);
    AddModules(i);
  }

  void AddLibraries(size_t i) {
    const Process& p = run_.processes[i];
    PutKnown(i, "library", "MPI", p.mpi_version.empty() ? p.mpi_abi : p.mpi_version);
    if (p.mpi_size >= 0) Put(i, "launcher", "MPI world size", std::to_string(p.mpi_size));
    std::map<std::string, std::set<std::string>> versions;  // two copies of one library are one fact
    for (const Library& library : p.libraries) versions[library.api].insert(library.version);
    for (const auto& [api, texts] : versions) Put(i, "library", api, fmt::format("{}", fmt::join(texts, " and ")));
  }

  // Files with code by their name, each with where it was and its build-id.
  void AddModules(size_t i) {
    std::map<std::string, std::set<std::string>> files;
    for (const Module& module : run_.processes[i].modules) {
      if (module.path.find('/') == module.path.npos) continue;  // the kernel's own page
      std::string text = module.path;
      if (!module.build_id.empty()) text += ", build-id " + Hex(module.build_id);
      files[std::string(BaseName(module.path))].insert(text);
    }
    for (const auto& [name, texts] : files) Put(i, "file", name, fmt::format("{}", fmt::join(texts, " and ")));
  }

  const Run& run_;
  std::map<FactName, std::map<std::string, std::vector<size_t>>> facts_;
};

// The words of a variable's name, in capitals: "OMPI_COMM_WORLD_RANK" is OMPI, COMM, WORLD, RANK.
std::set<std::string> WordsOf(std::string_view name) {
  std::set<std::string> words;
  std::string word;
  for (char c : name) {
    if (c == '_') {
      words.insert(std::move(word));
      word.clear();
    } else {
      word += static_cast<char>(toupper(static_cast<unsigned char>(c)));
    }
  }
  words.insert(std::move(word));
  return words;
}

template <size_t N>
bool HasOneOf(const std::set<std::string>& words, const char* const (&wanted)[N]) {
  return std::any_of(std::begin(wanted), std::end(wanted), [&](const char* word) { return words.count(word) > 0; });
}

template <size_t N>
bool IsOneOf(std::string_view name, const char* const (&names)[N]) {
  return std::any_of(std::begin(names), std::end(names), [&](const char* known) { return name == known; });
}

}  // namespace

std::vector<size_t> RankProcesses(const Run& run) {
  std::map<int32_t, size_t> of_rank;
  std::vector<size_t> others;
  for (size_t i = 0; i < run.processes.size(); ++i) {
    int32_t rank = run.processes[i].rank();
    if (rank < 0) {
      others.push_back(i);
      continue;
    }
    auto [known, fresh] = of_rank.try_emplace(rank, i);
    if (!fresh && run.processes[i].calls.size() > run.processes[known->second].calls.size()) known->second = i;
  }
  if (of_rank.empty()) return others;
  std::vector<size_t> processes;
  for (const auto& [rank, index] : of_rank) processes.push_back(index);
  std::sort(processes.begin(), processes.end());
  return processes;
}

Facts FactsOf(const Run& run) { return Collector(run).Collect(); }

bool DiffersByRank(const FactName& name) {
  if (name.area == "launcher") return name.name == "rank" || name.name == "local rank";
  if (name.area == "host") return true;
  if (name.area != "environment") return false;
  // What launchers and schedulers tell each rank: its number, its place, its socket, its process.
  static constexpr const char* kWords[] = {"RANK", "RANKID", "LOCALRANKID", "PROCID", "LOCALID", "NODEID",
                                           "VPID", "PID",    "TASKPID",     "GTIDS",  "FD",      "LOCALRANK"};
  static constexpr const char* kNames[] = {"HOSTNAME",
                                           "HOST",
                                           "SLURMD_NODENAME",
                                           "SLURM_TOPOLOGY_ADDR",
                                           "PMI_ID",
                                           "FLUX_TASK_LOCAL_ID",
                                           "FLUX_TASK_ID",
                                           "_",
                                           "SHLVL",
                                           "SSH_CLIENT",
                                           "SSH_CONNECTION",
                                           "OMPI_MCA_ess_base_vpid",
                                           "OMPI_MCA_orte_app_num",
                                           "PMIX_SERVER_TMPDIR",
                                           "PMIX_ID",
                                           "OMPI_FILE_LOCATION",
                                           "TF_CONFIG"};  // its cluster is a fact of its own
  return HasOneOf(WordsOf(name.name), kWords) || IsOneOf(name.name, kNames);
}

bool DiffersByRun(const FactName& name) {
  if (DiffersByRank(name)) return true;
  if (name.area == "launcher") return name.name == "attempt";
  if (name.area != "environment") return false;
  // Numbers, addresses and folders that a launcher, a scheduler or a shell makes new for each job.
  static constexpr const char* kWords[] = {"JOBID", "JOB",  "STEPID", "STEP",      "URI",    "URI2",  "URI21",  "URI3",
                                           "URI4",  "PORT", "JOBFAM", "NAMESPACE", "TMPDIR", "TOKEN", "COOKIE", "UUID"};
  static constexpr const char* kNames[] = {"DDBG_RUN_ID",
                                           "DDBG_SOCKET",
                                           "DDBG_DIR",
                                           "TORCHELASTIC_RUN_ID",
                                           "MASTER_PORT",
                                           "OMPI_MCA_orte_precondition_transports",
                                           "OMPI_MCA_ess_base_jobid",
                                           "OMPI_MCA_orte_top_session_dir",
                                           "OMPI_MCA_orte_jobfam_session_dir",
                                           "PMIX_ID",
                                           "HYDI_CONTROL_FD",
                                           "OMPI_ARGV",  // told as the program's command line
                                           "OLDPWD",
                                           "WINDOWID",
                                           "INVOCATION_ID",
                                           "SLURM_JOBID",
                                           "SLURM_SUBMIT_DIR",
                                           "NCCL_COMM_ID"};
  return HasOneOf(WordsOf(name.name), kWords) || IsOneOf(name.name, kNames) || name.name.starts_with("PMIX_") ||
         name.name.starts_with("OMPI_MCA_orte_") || name.name.starts_with("HYD");
}

namespace {

std::set<std::string> TextsOf(const std::vector<FactValue>& values) {
  std::set<std::string> texts;
  for (const FactValue& value : values)
    if (value.present) texts.insert(value.text);
  return texts;
}

bool IsAbsentSomewhere(const std::vector<FactValue>& values) {
  return values.empty() ||
         std::any_of(values.begin(), values.end(), [](const FactValue& value) { return !value.present; });
}

// Which plug-ins are in memory when their list is taken is chance, and which stay is the library's choice: of a file it
// matters whether it was another one.
bool MayBeAbsent(const FactName& name) { return name.area == "file"; }

void Put(FactDifference difference, bool all, FactComparison* comparison) {
  if (difference.expected && !all)
    ++comparison->hidden;
  else
    comparison->differences.push_back(std::move(difference));
}

}  // namespace

FactComparison CompareRanks(const Run& run, bool all) {
  FactComparison comparison;
  for (auto& [name, values] : FactsOf(run)) {
    if (values.size() == 1) {
      ++comparison.equal;
      continue;
    }
    bool expected = DiffersByRank(name) || (MayBeAbsent(name) && TextsOf(values).size() < 2);
    Put({name, expected, values, {}}, all, &comparison);
  }
  return comparison;
}

FactComparison CompareRuns(const Run& run, const Run& other, bool all) {
  Facts first = FactsOf(run), second = FactsOf(other);
  std::set<FactName> names;
  for (const auto& [name, values] : first) names.insert(name);
  for (const auto& [name, values] : second) names.insert(name);
  FactComparison comparison;
  for (const FactName& name : names) {
    std::vector<FactValue> values = first[name], of_other = second[name];
    std::set<std::string> texts = TextsOf(values), other_texts = TextsOf(of_other);
    bool equal = texts == other_texts && IsAbsentSomewhere(values) == IsAbsentSomewhere(of_other);
    if (equal) {
      ++comparison.equal;
      continue;
    }
    bool by_absence = texts == other_texts || texts.empty() || other_texts.empty();
    bool expected = DiffersByRun(name) || (MayBeAbsent(name) && by_absence);
    if (values.empty()) values.push_back({false, "", {}});
    if (of_other.empty()) of_other.push_back({false, "", {}});
    Put({name, expected, std::move(values), std::move(of_other)}, all, &comparison);
  }
  return comparison;
}

}  // namespace ddbg::analyzer
