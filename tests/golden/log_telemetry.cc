// What was sampled of ranks, their node, cgroups and file systems, and steps of the node's wall clock.
#include <algorithm>

#include "tests/golden/log_lines.h"
#include "tests/golden/log_text.h"

namespace ddbg::analyzer {
namespace {

NodeTelemetry& Node(LogJob* job) {
  if (job->run.nodes.empty()) job->run.nodes.emplace_back().host = "node0";
  return job->run.nodes[0];
}

// By its name in the tables; kMetricCount if there is none. A node's metrics have names that a cgroup's have, too.
size_t MetricNamed(const std::string& name, bool of_cgroup) {
  size_t index = of_cgroup ? MetricIndex(Metric::kPeriods) : 0;
  while (index < kMetricCount && kMetrics[index].json_name != name) ++index;
  return index;
}

// With 0 in the entries before the last one where it is new.
std::vector<int64_t>& ValuesOf(SampleSeries* series, Metric metric) {
  if (std::vector<int64_t>* values = series->Of(metric)) return *values;
  return series->columns.emplace_back(SampleSeries::Column{metric, std::vector<int64_t>(series->t_ns.size() - 1)})
      .values;
}

// state=T; name=5: this value; name=5+2: from 5 on 2 more each second; name=+2: from where it was
bool AddEntry(SampleSeries* series, bool of_cgroup, int second, int since, const std::vector<std::string>& words) {
  series->t_ns.push_back(int64_t{second} * 1'000'000'000);
  for (const std::string& word : words) {
    size_t equals = word.find('=');
    size_t index = MetricNamed(word.substr(0, equals), of_cgroup);
    if (index == kMetricCount || equals == std::string::npos) return false;
    std::string value = word.substr(equals + 1);
    Metric metric = kMetrics[index].metric;
    std::vector<int64_t>& values = ValuesOf(series, metric);
    size_t plus = value.find('+');
    int64_t more = plus == std::string::npos ? 0 : std::stoll(value.substr(plus + 1));
    int64_t last = values.empty() ? 0 : values.back();
    values.push_back(metric == Metric::kState ? value[0] : plus == 0 ? last + more : std::stoll(value) + more * since);
  }
  for (SampleSeries::Column& column : series->columns)
    column.values.resize(series->t_ns.size(), column.values.empty() ? 0 : column.values.back());
  return true;
}

// 1,2 0-20: state=S run=0.9        node 5-6: …        cgroup memory:/job 0-20: …        disk /dev/shm 3-4: …
bool Sample(LogJob* job, const std::string& text) {
  size_t colon = text.rfind(": ");
  if (colon == std::string::npos) return false;
  std::vector<std::string> subject = Split(text.substr(0, colon), ' '), words = Split(text.substr(colon + 2), ' ');
  if (subject.size() < 2) return false;
  size_t dash = subject.back().find('-');
  if (dash == std::string::npos) return false;
  int from = std::stoi(subject.back()), to = std::stoi(subject.back().substr(dash + 1));
  auto add = [&](SampleSeries* series) {
    for (int second = from; second <= to; ++second)
      if (!AddEntry(series, subject[0] == "cgroup", second, second - from, words)) return false;
    return true;
  };
  if (subject[0] == "node") return add(&Node(job).system);
  if (subject[0] == "cgroup") return add(&Node(job).cgroups[subject[1]]);
  if (subject[0] == "disk") return add(&Node(job).file_systems[subject[1]]);
  for (int rank : job->Who(subject[0]))
    if (!add(&job->process(rank).samples)) return false;
  return true;
}

bool StepWallClock(LogJob* job, const std::string& seconds, bool slept) {
  int64_t by_ns = static_cast<int64_t>(std::stod(seconds) * 1e9);
  Node(job).clock_steps.push_back({job->now_ns, by_ns, slept ? by_ns : 0});
  return true;
}

}  // namespace

std::vector<LogLine> TelemetryLines(LogJob* job) {
  auto add_cgroup = [=](int rank, const std::string& name) { job->process(rank).cgroups.push_back(name); };
  return {
      {"sample ", [=](const auto& rest) { return Sample(job, rest); }},
      {"cgroup ", [=](const auto& rest) { return job->ForRanks(rest, add_cgroup); }},
      {"wall clock ", [=](const auto& rest) { return StepWallClock(job, rest, false); }},
      {"slept ", [=](const auto& rest) { return StepWallClock(job, rest, true); }},
  };
}

}  // namespace ddbg::analyzer
