// How a job was started: its ranks, what launcher and MPI said to them, on which hosts, with which programs; and what
// of their files is missing.
#include <numeric>

#include "tests/golden/log_lines.h"
#include "tests/golden/log_text.h"

namespace ddbg::analyzer {
namespace {

std::vector<int32_t> FirstRanks(int count) {
  std::vector<int32_t> ranks(static_cast<size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// SIZE [nccl]
bool Ranks(LogJob* job, const std::string& text) {
  std::vector<std::string> words = Split(text, ' ');
  int n = std::stoi(words[0]);
  bool mpi = words.size() == 1 || words[1] != "nccl";
  job->run.run_id = "golden";
  for (int rank = 0; rank < n; ++rank) {
    Process& process = job->run.processes.emplace_back();
    process.run_id = "golden";
    process.host = "node0";
    process.pid = 1000 + rank;
    process.launcher_rank = process.local_rank = rank;
    process.launcher_world_size = n;
    if (mpi) process.mpi_rank = rank, process.mpi_size = n, process.mpi_abi = "Open MPI";
    process.devices.push_back({0, "0000:0" + std::to_string(rank) + ":00.0", "", "GPU"});
    process.modules.push_back({"/home/user/app", 0, 0x1000, 1ull << 40, "build"});
    if (mpi) job->comms.Add(rank, &process, "MPI_COMM_WORLD", FirstRanks(n), "world");
  }
  return true;
}

// RANK of SIZE [by LAUNCHER]; RANK may be `own`
void SetLauncher(LogJob* job, int rank, const std::string& text) {
  std::vector<std::string> words = Split(text, ' ');
  Process& process = job->process(rank);
  process.launcher_rank = words[0] == "own" ? rank : std::stoi(words[0]);
  process.launcher_world_size = std::stoi(words[2]);
  if (words.size() > 4) process.launcher = words[4];
}

// RANK of SIZE, as the library says; or `not`: it has not said anything
void SetMpi(LogJob* job, int rank, const std::string& text) {
  std::vector<std::string> words = Split(text, ' ');
  Process& process = job->process(rank);
  process.comms.clear();
  process.mpi_rank = process.mpi_size = -1;
  if (words[0] == "not") return process.mpi_abi.clear();
  process.mpi_rank = std::stoi(words[0]);
  process.mpi_size = std::stoi(words[2]);
  job->comms.Add(rank, &process, "MPI_COMM_WORLD", FirstRanks(process.mpi_size), "world").rank = process.mpi_rank;
}

// PATH [BUILD-ID]
void SetProgram(Process* process, const std::string& text) {
  std::vector<std::string> words = Split(text, ' ');
  process->exe = process->modules[0].path = words[0];
  if (words.size() > 1) process->modules[0].build_id = words[1];
}

// PATH BUILD-ID
void AddModule(Process* process, const std::string& text) {
  size_t space = text.find(' ');
  Module module;
  module.path = text.substr(0, space);
  module.build_id = text.substr(space + 1);
  module.start = (1ull << 41) + process->modules.size() * 4096;
  module.end = module.start + 4096;
  process->modules.push_back(module);
}

// NAME=VALUE, of a launcher, as it was when recording began
void AddSource(Process* process, const std::string& text) {
  size_t equals = text.find('=');
  process->rank_sources.push_back({text.substr(0, equals), text.substr(equals + 1)});
}

void AddVariable(Process* process, const std::string& text) {
  size_t equals = text.find('=');
  process->environment.push_back({text.substr(0, equals), text.substr(equals + 1)});
}

void SetCommit(Process* process, const std::string& text) { process->git_commit = text; }
void SetHost(Process* process, const std::string& text) { process->host = text; }
void SetLocalRank(Process* process, const std::string& text) { process->local_rank = std::stoi(text); }
void Lose(Process* process, const std::string& text) { process->lost.assign(1, std::stoull(text)); }
void SetTagBound(Process* process, const std::string& text) { process->tag_ub = std::stoi(text); }
void Damage(Process* process, const std::string& text) { process->damage.push_back(text); }

bool Hide(LogJob* job, const std::string& text) {
  for (int rank : job->Who(text)) job->unseen.insert(rank);
  return true;
}

}  // namespace

std::vector<LogLine> StartLines(LogJob* job) {
  auto by_rank = [=](void (*act)(LogJob*, int, const std::string&)) {
    return [=](const std::string& rest) {
      return job->ForRanks(rest, [&](int rank, const std::string& text) { act(job, rank, text); });
    };
  };
  auto by_process = [=](void (*act)(Process*, const std::string&)) {
    return [=](const std::string& rest) {
      return job->ForRanks(rest, [&](int rank, const std::string& text) { act(&job->process(rank), text); });
    };
  };
  return {
      {"ranks ", [=](const auto& rest) { return Ranks(job, rest); }},
      {"launched ", by_rank(SetLauncher)},
      {"mpi ", by_rank(SetMpi)},
      {"host ", by_process(SetHost)},
      {"local ", by_process(SetLocalRank)},
      {"program ", by_process(SetProgram)},
      {"module ", by_process(AddModule)},
      {"commit ", by_process(SetCommit)},
      {"env ", by_process(AddVariable)},
      {"told ", by_process(AddSource)},
      {"tag_ub ", by_process(SetTagBound)},
      {"lost ", by_process(Lose)},
      {"damage ", by_process(Damage)},
      {"unseen ", [=](const auto& rest) { return Hide(job, rest); }},
  };
}

}  // namespace ddbg::analyzer
