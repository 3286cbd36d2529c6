// A job of TensorFlow's that TF_CONFIG describes and that does not come together. Its workers talk by gRPC, of which
// nothing is recorded: that they wait shows in what they do not do.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/find/odd_settings.h"
#include "analyzer/find/start_up.h"
#include "analyzer/launch/job_settings.h"
#include "analyzer/launch/tf_config.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

struct Task {
  size_t process = kNoIndex;
  TfConfig config;
  int32_t rank() const { return config.Rank(); }
};

int64_t LastRecordNs(const Process& process) {
  int64_t last = process.start_monotonic_ns;
  for (const Call& call : process.calls) last = std::max(last, call.start_ns + std::max<int64_t>(call.duration_ns, 0));
  return last;
}

// CPU time it had from one time on, in ns, by what was sampled; −1: there are no two samples.
int64_t CpuNsSince(const Process& process, int64_t from_ns) {
  const std::vector<int64_t>* run_us = process.samples.Of(Metric::kRunUs);
  const std::vector<int64_t>& t_ns = process.samples.t_ns;
  size_t first = static_cast<size_t>(std::lower_bound(t_ns.begin(), t_ns.end(), from_ns) - t_ns.begin());
  if (!run_us || run_us->size() != t_ns.size() || first + 1 >= t_ns.size()) return -1;
  return (run_us->back() - (*run_us)[first]) * 1000;
}

class Cluster {
 public:
  explicit Cluster(Context& context) : context_(context) {
    for (size_t i = 0; i < context.run.processes.size(); ++i) {
      std::optional<TfConfig> config = TfConfigOf(context.process(i));
      if (!config || !config->valid ||
          (config->type != "worker" && config->type != "chief" && config->type != "master"))
        continue;
      Task task{i, *std::move(config)};
      if (!IsPartOfAnother(i)) tasks_.push_back(std::move(task));
    }
  }

  std::optional<Finding> Find() {
    if (tasks_.empty() || CameTogether()) return std::nullopt;
    std::optional<Finding> finding = OutOfRange();
    if (!finding) finding = Duplicate();
    if (!finding) finding = Differing();
    if (!finding) return Missing();
    if (Troubled()) return finding;
    context_.notes.push_back(finding->summary);
    return std::nullopt;
  }

 private:
  // A child of the program of a task, as of a loader, inherits its TF_CONFIG.
  bool IsPartOfAnother(size_t i) const {
    const Process& process = context_.process(i);
    return !process.start_method.empty() && std::any_of(tasks_.begin(), tasks_.end(), [&](const Task& task) {
      return context_.process(task.process).pid == process.ppid && context_.process(task.process).host == process.host;
    });
  }

  // Calls of MPI or NCCL say more than this can. Several steps are not made alone.
  bool CameTogether() const {
    return std::any_of(tasks_.begin(), tasks_.end(), [&](const Task& task) {
      return context_.situation(task.process).communicates || context_.steps.of(task.process).size() > 2;
    });
  }

  // Since when it has done nothing that is recorded, and has slept; 0: it does something, or that is not known.
  int64_t WaitsSinceNs(const Task& task) const {
    const Process& process = context_.process(task.process);
    if (!context_.situation(task.process).alive_at_end()) return 0;
    int64_t since = LastRecordNs(process), until = context_.LastNs(task.process);
    int64_t idle = until - since, cpu = CpuNsSince(process, since);
    return static_cast<double>(idle) / 1e9 >= kInitSeconds && cpu >= 0 && cpu < idle / 10 ? since : 0;
  }

  bool Failed(const Task& task) const {
    EndCause end = context_.situation(task.process).end;
    return end == EndCause::kOwn || end == EndCause::kFailed || end == EndCause::kFollowed;
  }

  bool Troubled() const {
    return std::any_of(tasks_.begin(), tasks_.end(),
                       [&](const Task& task) { return Failed(task) || WaitsSinceNs(task) > 0; });
  }

  std::optional<Finding> OutOfRange() const {
    for (const Task& task : tasks_) {
      if (task.config.InRange()) continue;
      size_t tasks = task.config.type == "worker" ? task.config.workers.size() : task.config.chiefs.size();
      Finding finding = BeginStartUp(context_, "env_mismatch", task.process, kNoIndex, "task index in TF_CONFIG",
                                     fmt::format("less than {}", tasks), std::to_string(task.config.index));
      finding.culprit_ranks = {context_.rank(task.process)};
      finding.summary = fmt::format("{} {} of TF_CONFIG is not in its cluster, which lists {}: pid {} on {}.",
                                    task.config.type, task.config.index, tasks, context_.process(task.process).pid,
                                    context_.process(task.process).host);
      AddRankSources(context_, task.process, &finding);
      return finding;
    }
    return std::nullopt;
  }

  bool Overlap(size_t a, size_t b) const {
    auto end = [&](size_t i) {
      const ProcessEnd& end = context_.process(i).end;
      return end.how == ProcessEnd::kRunning ? INT64_MAX : context_.timeline.At(i, end.t_ns);
    };
    auto start = [&](size_t i) { return context_.timeline.At(i, context_.process(i).start_monotonic_ns); };
    return start(a) < end(b) && start(b) < end(a);
  }

  std::optional<Finding> Duplicate() const {
    std::map<int32_t, size_t> owner;
    for (const Task& task : tasks_) {
      auto [at, is_new] = owner.try_emplace(task.rank(), task.process);
      if (is_new || !Overlap(at->second, task.process)) continue;
      const Process &one = context_.process(at->second), &other = context_.process(task.process);
      Finding finding = BeginStartUp(context_, "duplicate_rank", task.process, kNoIndex, "task index in TF_CONFIG",
                                     "an index of its own", std::to_string(task.config.index));
      finding.culprit_ranks = {task.rank()};
      finding.summary = fmt::format("Two processes are {} {} by TF_CONFIG: pid {} on {} and pid {} on {}.",
                                    task.config.type, task.config.index, one.pid, one.host, other.pid, other.host);
      AddRankSources(context_, at->second, &finding);
      AddRankSources(context_, task.process, &finding);
      return finding;
    }
    return std::nullopt;
  }

  std::optional<Finding> Differing() const {
    std::vector<size_t> processes;
    for (const Task& task : tasks_) processes.push_back(task.process);
    for (const OddSetting& odd : OddSettings(context_, processes, SettingReader::kAny)) {
      if (odd.key != kTfCluster) continue;
      Finding finding = BeginStartUp(context_, "env_mismatch", odd.process, kNoIndex, kTfCluster, odd.usual, odd.odd);
      finding.culprit_ranks = odd.ranks.empty() ? odd.both_sides : odd.ranks;
      finding.summary = fmt::format("The workers were not told the same cluster: {}.", odd.sentence);
      finding.confidence = odd.ranks.empty() ? 0.6 : 0.9;
      return finding;
    }
    return std::nullopt;
  }

  // Those who are there wait for those who are not. Who has failed is looked at by others.
  std::optional<Finding> Missing() {
    std::set<int32_t> there;
    const Task* waiting = nullptr;
    double waited_s = 0;
    for (const Task& task : tasks_) {
      int64_t since = WaitsSinceNs(task);
      if (since == 0) return std::nullopt;
      double seconds = static_cast<double>(context_.LastNs(task.process) - since) / 1e9;
      if (!waiting || seconds > waited_s) waiting = &task, waited_s = seconds;
      there.insert(task.rank());
    }
    const TfConfig& config = waiting->config;
    if (static_cast<int32_t>(there.size()) >= config.Size()) return std::nullopt;
    Finding finding = BeginStartUp(context_, "missing_rank", waiting->process, kNoIndex, "arrival",
                                   fmt::format("{} workers", config.Size()),
                                   there.size() == 1 ? "1 worker" : fmt::format("{} workers", there.size()));
    std::string missing;
    for (int32_t rank = 0; rank < config.Size(); ++rank) {
      if (there.count(rank)) continue;
      if (finding.culprit_ranks.size() < 4) missing += (missing.empty() ? "" : ", ") + TaskName(config, rank);
      finding.culprit_ranks.push_back(rank);
    }
    if (finding.culprit_ranks.size() > 4) missing += fmt::format(" and {} more", finding.culprit_ranks.size() - 4);
    finding.first.rank = finding.culprit_ranks[0];
    finding.first.process = kNoIndex;
    finding.first.call_name = "start";
    finding.first.t_ns = context_.timeline.At(waiting->process, WaitsSinceNs(*waiting));
    finding.summary = fmt::format(
        "TF_CONFIG's cluster lists {} workers, {} seen: {} never started; {} asleep for {:.1f} s, without a call.",
        config.Size(), there.size() == 1 ? "1 process was" : fmt::format("{} processes were", there.size()), missing,
        there.size() == 1 ? TaskName(config, *there.begin()) + " has been" : "the others have been", waited_s);
    finding.confidence = 0.75;
    for (const Task& task : tasks_)
      if (finding.evidence.size() < 8)
        finding.evidence.push_back(fmt::format("{} (pid {} on {}) is {}", TaskName(config, task.rank()),
                                               context_.process(task.process).pid, context_.process(task.process).host,
                                               context_.WhereIs(task.process)));
    finding.evidence.push_back(
        "they sleep, as who waits for a connection does: what TensorFlow itself calls is not recorded");
    finding.evidence.push_back(
        "of the others no process was seen: not started, not preloaded, before the first call that is recorded, or on "
        "a "
        "node whose files were not given");
    return finding;
  }

  Context& context_;
  std::vector<Task> tasks_;
};

}  // namespace

std::optional<Finding> FindClusterTrouble(Context& context) { return Cluster(context).Find(); }

}  // namespace ddbg::analyzer
