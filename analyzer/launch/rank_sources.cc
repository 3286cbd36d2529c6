#include "analyzer/launch/rank_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "analyzer/launch/tf_config.h"

namespace ddbg::analyzer {
namespace {

// Who tells a rank, and how many there are.
struct Source {
  std::string rank_name, size_name;
  std::optional<int32_t> rank, size;
};

std::optional<int32_t> Number(const std::string& text) {
  int32_t number = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::optional<int32_t> Known(int32_t number) { return number < 0 ? std::nullopt : std::optional(number); }

bool IsTorchLauncher(const std::string& launcher) { return launcher == "torchrun" || launcher == "accelerate"; }

// The program's own belief first.
std::vector<Source> SourcesOf(const Process& process) {
  std::vector<Source> sources;
  auto add = [&](const char* rank, const char* size) {
    Source source{rank, size, Number(LauncherVariable(process, rank)), Number(LauncherVariable(process, size))};
    if (source.rank || source.size) sources.push_back(std::move(source));
  };
  add("RANK", "WORLD_SIZE");
  if (!IsTorchLauncher(process.launcher)) {
    add("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
    add("PMI_RANK", "PMI_SIZE");
    add("FLUX_TASK_RANK", "FLUX_JOB_SIZE");
    add("HOROVOD_RANK", "HOROVOD_SIZE");
    if (process.launcher == "Slurm") add("SLURM_PROCID", "SLURM_NTASKS");
  }
  if (std::optional<TfConfig> config = TfConfigOf(process); config && config->valid && config->Rank() >= 0)
    sources.push_back({"TF_CONFIG's task", "TF_CONFIG's cluster", Known(config->Rank()), Known(config->Size())});
  return sources;
}

struct Difference {
  int32_t rank = -1;
  int32_t one = -1, other = -1;
};
using Differences = std::map<std::pair<std::string, std::string>, std::vector<Difference>>;

void Compare(int32_t rank, const std::string& name, std::optional<int32_t> one, const std::string& other_name,
             std::optional<int32_t> other, Differences* differences) {
  if (one && other && *one != *other) (*differences)[{name, other_name}].push_back({rank, *one, *other});
}

std::string Sentence(const std::pair<std::string, std::string>& names, const std::vector<Difference>& who) {
  constexpr size_t kMostShown = 3;
  std::string text = fmt::format("{} and {} do not say the same: ", names.first, names.second);
  for (size_t i = 0; i < who.size() && i < kMostShown; ++i)
    text += fmt::format("{}{} and {} on rank {}", i ? ", " : "", who[i].one, who[i].other, who[i].rank);
  if (who.size() > kMostShown) text += fmt::format(" and so on, on {} ranks", who.size());
  return text;
}

}  // namespace

const std::string& LauncherVariable(const Process& process, std::string_view name) {
  static const std::string none;
  for (const KeyValue& source : process.rank_sources)
    if (source.key == name) return source.value;
  return none;
}

std::vector<std::string> RankDisagreements(const Run& run) {
  Differences differences;
  std::vector<std::string> sentences;
  for (const Process& process : run.processes) {
    std::vector<Source> sources = SourcesOf(process);
    if (sources.empty()) continue;
    const Source& first = sources[0];
    for (size_t i = 1; i < sources.size(); ++i) {
      Compare(process.rank(), first.rank_name, first.rank, sources[i].rank_name, sources[i].rank, &differences);
      Compare(process.rank(), first.size_name, first.size, sources[i].size_name, sources[i].size, &differences);
    }
    // A world of another size is a finding of its own (find/world_sizes.cc).
    int32_t rank = process.told ? process.told->mpi_rank : process.mpi_rank;
    int32_t size = process.told ? process.told->mpi_size : process.mpi_size;
    if (size > 1 && first.size == size)
      Compare(process.rank(), first.rank_name, first.rank, "MPI's rank", rank, &differences);
    for (const Source& source : sources)
      if (source.rank && source.size && *source.rank >= *source.size)
        sentences.push_back(fmt::format("pid {} on {} was told rank {} by {}, of {} by {}", process.pid, process.host,
                                        *source.rank, source.rank_name, *source.size, source.size_name));
  }
  constexpr size_t kMostOutOfRange = 4;
  if (sentences.size() > kMostOutOfRange) sentences.resize(kMostOutOfRange);
  for (const auto& [names, who] : differences) sentences.push_back(Sentence(names, who));
  return sentences;
}

}  // namespace ddbg::analyzer
