#include "collector/node/process_sampler.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>

#include "collector/node/process_texts.h"

namespace ddbg::collector {
namespace {

constexpr int64_t kPeriodNs = 990'000'000;  // the session's tick is a quarter of a second
constexpr size_t kBatch = 10;
constexpr size_t kMostThreads = 8;

// Running, sleeping and idle come and go; these stay or matter.
bool IsRemarkable(char state) { return state == 'T' || state == 't' || state == 'D' || state == 'Z'; }

}  // namespace

ProcessSampler::ProcessSampler(pid_t pid) : pid_(pid) {
  if (pid <= 0) return;
  directory_ = UniqueFd{open(("/proc/" + std::to_string(pid)).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
}

bool ProcessSampler::IsDue(int64_t now_ns) const { return directory_ && now_ns - last_ns_ >= kPeriodNs; }

bool ProcessSampler::Sample(int64_t now_ns, const std::vector<uint32_t>& threads) {
  if (!directory_) return false;
  std::vector<MetricValue> values;
  bool first = last_ns_ == 0;
  last_ns_ = now_ns;
  char before = state_;
  int64_t tracer_before = tracer_;
  if (!ReadMain(&values)) return false;
  ReadThreads(threads, &values);
  columns_.Add(now_ns, values);
  if (state_ == 'D') ReadWhere(now_ns);
  bool changed = state_ != before && (IsRemarkable(state_) || IsRemarkable(before));
  return first || changed || tracer_ != tracer_before || columns_.size() >= kBatch;
}

bool ProcessSampler::ReadMain(std::vector<MetricValue>* values) {
  static const int64_t kTickMs = 1000 / sysconf(_SC_CLK_TCK);
  std::optional<std::string> stat_text = ReadText(directory_.get(), "stat");
  std::optional<ProcessStat> stat = stat_text ? ParseProcessStat(*stat_text) : std::nullopt;
  if (!stat || stat->state == 'X') return false;
  state_ = stat->state;
  *values = {{Metric::kState, stat->state},
             {Metric::kThreads, stat->threads},
             {Metric::kUserMs, stat->user_ticks * kTickMs},
             {Metric::kSystemMs, stat->system_ticks * kTickMs},
             {Metric::kMajorFaults, stat->major_faults}};
  std::optional<std::string> status_text = ReadText(directory_.get(), "status");
  std::optional<ProcessStatus> status = status_text ? ParseStatus(*status_text) : std::nullopt;
  if (status) {
    tracer_ = status->tracer;
    values->push_back({Metric::kTracer, status->tracer});
    values->push_back({Metric::kVoluntarySwitches, status->voluntary_switches});
    values->push_back({Metric::kInvoluntarySwitches, status->involuntary_switches});
  }
  if (status && state_ != 'Z') {  // a zombie's memory is gone, and what it had before is what matters
    values->push_back({Metric::kResidentKb, status->resident_kb});
    values->push_back({Metric::kAnonymousKb, status->anonymous_kb});
    values->push_back({Metric::kSwapKb, status->swap_kb});
  }
  std::optional<std::string> io_text = io_allowed_ ? ReadText(directory_.get(), "io") : std::nullopt;
  io_allowed_ = io_text.has_value();
  std::optional<ProcessIo> io = io_text ? ParseIo(*io_text) : std::nullopt;
  if (io) {
    values->push_back({Metric::kReadKb, io->read_bytes / 1024});
    values->push_back({Metric::kWriteKb, io->written_bytes / 1024});
  }
  return true;
}

// A thread that ends takes its times along: the sum may fall, which readers allow for.
void ProcessSampler::ReadThreads(const std::vector<uint32_t>& threads, std::vector<MetricValue>* values) {
  ThreadTimes sum;
  bool any = false;
  auto add = [&](const std::string& path) {
    std::optional<std::string> text = ReadText(directory_.get(), path.c_str());
    std::optional<ThreadTimes> times = text ? ParseSchedstat(*text) : std::nullopt;
    if (!times) return;
    any = true;
    sum.run_ns += times->run_ns;
    sum.wait_ns += times->wait_ns;
  };
  add("schedstat");
  size_t read = 0;
  for (uint32_t tid : threads) {
    if (static_cast<pid_t>(tid) == pid_ || tid == 0 || ++read > kMostThreads) continue;
    add("task/" + std::to_string(tid) + "/schedstat");
  }
  if (!any) return;  // a kernel without it
  values->push_back({Metric::kRunUs, sum.run_ns / 1000});
  values->push_back({Metric::kWaitUs, sum.wait_ns / 1000});
}

void ProcessSampler::ReadWhere(int64_t now_ns) {
  std::optional<std::string> where = ReadText(directory_.get(), "wchan");
  if (!where || where->empty() || *where == "0" || *where == where_) return;
  where_ = *where;
  columns_.AddKernelWait(now_ns, where_);
}

void ProcessSampler::Take(std::string* chunk, int64_t* first_ns, int64_t* last_ns) {
  *first_ns = columns_.first_ns();
  *last_ns = columns_.last_ns();
  where_.clear();
  columns_.Take(chunk);
}

}  // namespace ddbg::collector
