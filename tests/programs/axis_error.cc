// axis_error RUN TIMES HOST:AHEAD:RATE:SINCE…: how far the analyzer's axis is off, against the true times that
// tests/programs/clock_truth.c wrote into the folder TIMES. Each host's clock shows real + AHEAD + RATE · (real −
// SINCE). Prints a JSON object: for each pair of hosts, of the times at which calls began, the error's quantiles, those
// of the bound that the analyzer states, and the share of events which it covers; and how many events contradict
// causality.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "analyzer/context/context.h"
#include "analyzer/load/load.h"

namespace {

using namespace ddbg;
using namespace ddbg::analyzer;

struct Clock {
  double ahead = 0, rate = 0, since = 0;
  int64_t At(int64_t real) const {
    return real + static_cast<int64_t>(ahead) + std::llround(rate * (static_cast<double>(real) - since));
  }
};

struct Event {
  size_t process;
  int64_t own_ns, real_ns;
};

// What lies between the program's looks at the clock and the call is ours, or that the process had to wait for its
// turn.
constexpr int64_t kMostOutsideNs = 10'000;

// The calls of which the program kept the times, in order.
bool IsKept(const Call& call) {
  if (!call.known()) return false;
  std::string_view name = call.info().name;
  return name == "MPI_Send" || name == "MPI_Recv" || name == "MPI_Allreduce";
}

std::vector<int64_t> ReadTimes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<int64_t> times(bytes.size() / sizeof(int64_t));
  std::copy_n(bytes.data(), times.size() * sizeof(int64_t), reinterpret_cast<char*>(times.data()));
  return times;
}

// The beginnings of calls of which the true time is known well. Empty: these are not the times of this run.
std::vector<Event> EventsOf(const Run& run, const std::string& folder) {
  std::vector<Event> events;
  for (size_t p = 0; p < run.processes.size(); ++p) {
    std::vector<int64_t> times = ReadTimes(folder + "/" + std::to_string(run.processes[p].rank()));
    size_t next = 0;
    for (const Call& call : run.processes[p].calls) {
      if (!IsKept(call)) continue;
      if (next + 1 >= times.size()) return {};
      int64_t outside = times[next + 1] - times[next] - call.duration_ns;
      if (outside <= kMostOutsideNs) events.push_back({p, call.start_ns, times[next] + outside / 2});
      next += 2;
    }
    if (next != times.size()) return {};
  }
  return events;
}

nlohmann::ordered_json Quantiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  nlohmann::ordered_json json;
  for (auto [name, share] : {std::pair("p50", 0.5), {"p90", 0.9}, {"p99", 0.99}, {"max", 1.0}})
    json[name] = std::llround(values[std::min(values.size() - 1, static_cast<size_t>(share * values.size()))]);
  return json;
}

nlohmann::ordered_json PairOf(const Timeline& timeline, const std::vector<Event>& events, size_t one, size_t two,
                              const Clock& clock) {
  std::vector<double> errors, bounds;
  size_t covered = 0, first = timeline.alignment().first_process[one];
  for (const Event& event : events) {
    if (timeline.HostOf(event.process) != two) continue;
    int64_t axis = timeline.At(event.process, event.own_ns);
    double error = std::fabs(static_cast<double>(axis - timeline.At(first, clock.At(event.real_ns))));
    double bound = static_cast<double>(timeline.ErrorNs(first, event.process, axis));
    covered += error <= bound;
    errors.push_back(error), bounds.push_back(bound);
  }
  if (errors.empty()) return nullptr;
  double share = static_cast<double>(covered) / static_cast<double>(errors.size());
  return {
      {"events", errors.size()}, {"error_ns", Quantiles(errors)}, {"bound_ns", Quantiles(bounds)}, {"covered", share}};
}

// All that left a collective before another had come, and messages that were there before they were sent.
size_t Contradictions(const Context& context) {
  size_t count = 0;
  for (const CommGroup& group : context.matching.groups)
    for (size_t seq = 0; seq < group.longest; ++seq) {
      int64_t last = INT64_MIN, first = INT64_MAX;
      for (const Member& member : group.members) {
        if (member.At(seq) == kNoIndex || !IsKept(context.call(member.process, member.At(seq)))) continue;
        last = std::max(last, context.StartNs(member.process, member.At(seq)));
        first = std::min(first, context.EndNs(member.process, member.At(seq)));
      }
      count += first < last;
    }
  for (const auto& [channel, ends] : context.messages.channels)
    for (const End& send : ends.sends) {
      if (send.partner >= ends.receives.size()) continue;
      const End& receive = ends.receives[send.partner];
      count += context.EndNs(receive.process, receive.call) < context.StartNs(send.process, send.call);
    }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  auto run = OpenRun({argv[1]});
  if (!run) return fprintf(stderr, "%s\n", run.error().text.c_str()), 1;
  std::map<std::string, Clock> clocks;
  for (int i = 3; i < argc; ++i) {
    std::istringstream word(argv[i]);
    std::string host, number;
    Clock clock;
    std::getline(word, host, ':');
    for (double* value : {&clock.ahead, &clock.rate, &clock.since})
      if (std::getline(word, number, ':')) *value = std::stod(number);
    clocks[host] = clock;
  }
  std::vector<Event> events = EventsOf(*run, argv[2]);
  if (events.empty())
    return fprintf(stderr, "the calls of the run are not those of %s, or none was timed well\n", argv[2]), 1;
  Context context(*run);
  const Alignment& alignment = context.timeline.alignment();
  nlohmann::ordered_json json;
  json["contradictions"] = Contradictions(context);
  json["pairs"] = nlohmann::ordered_json::array();
  size_t hosts = alignment.first_process.size();
  auto name = [&](size_t host) { return context.process(alignment.first_process[host]).host; };
  for (size_t one = 0; one < hosts; ++one)
    for (size_t two = 0; two < hosts; ++two) {
      auto pair = PairOf(context.timeline, events, one, two, clocks[name(one)]);
      pair["hosts"] = {name(one), name(two)};
      json["pairs"].push_back(pair);
    }
  printf("%s\n", json.dump().c_str());
  return 0;
}
