#include "analyzer/report/site_times.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "analyzer/model/call_fields.h"
#include "analyzer/model/comm_name.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kParts = 16;  // of a power of two

size_t ClassOf(int64_t ns) {
  uint64_t value = ns > 0 ? static_cast<uint64_t>(ns) : 0;
  if (value < kParts) return value;
  int power = std::bit_width(value) - 1;
  return static_cast<size_t>(power) * kParts + ((value >> (power - 4)) & (kParts - 1));
}

// The middle of a class.
int64_t ValueOf(size_t index) {
  if (index < kParts) return static_cast<int64_t>(index);
  size_t power = index / kParts, part = index % kParts;
  double low = std::ldexp(1.0 + static_cast<double>(part) / kParts, static_cast<int>(power));
  return static_cast<int64_t>(low + std::ldexp(0.5 / kParts, static_cast<int>(power)));
}

uint64_t KeyOf(std::string_view call, std::string_view comm, uint64_t site) {
  uint64_t hash = 0xcbf29ce484222325 ^ site;
  for (std::string_view text : {call, comm})
    for (unsigned char byte : text) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

const char* NameOf(SiteTimes::Measure measure) {
  switch (measure) {
    case SiteTimes::kDuration: return "duration";
    case SiteTimes::kWaiting: return "waiting";
    case SiteTimes::kOwnTime: return "own time";
  }
  return "";
}

}  // namespace

void TimeHistogram::Add(int64_t ns) {
  ++counts_[ClassOf(ns)];
  ++calls_;
  total_ns_ += std::max<int64_t>(0, ns);
}

int64_t TimeHistogram::Quantile(double part) const {
  uint64_t rank = static_cast<uint64_t>(std::ceil(part * static_cast<double>(calls_))), seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank && seen > 0) return ValueOf(i);
  }
  return 0;
}

Spread TimeHistogram::Summary() const { return {calls_, Quantile(0.5), Quantile(0.95), total_ns_}; }

SiteTimes::SiteTimes(const Run& run) : run_(run), timeline_(run), matching_(MatchCollectives(run)) {
  for (const CommGroup& group : matching_.groups) last_entry_.emplace_back(group.longest);
}

int64_t SiteTimes::LastEntry(size_t group, uint64_t seq) {
  int64_t& last = last_entry_[group][seq];
  if (last != 0) return last;
  last = INT64_MIN;
  for (const Member& member : matching_.groups[group].members) {
    size_t call = member.At(seq);
    if (call != kNoIndex)
      last = std::max(last, timeline_.At(member.process, run_.processes[member.process].calls[call].start_ns));
  }
  return last;
}

void SiteTimes::Add(size_t index, CallLanes* lanes, StackViews* views) {
  const Process& process = run_.processes[index];
  std::unordered_map<uint32_t, int64_t> thread_end;       // when the thread came back from its last call
  std::unordered_map<uint64_t, Site*> places;             // by call, communicator and stack of this process
  std::unordered_map<uint32_t, const CommGroup*> groups;  // by communicator
  for (const Call& call : process.calls) {
    if (call.call < kFirstCall || (call.flags & (kFlagSecondHalf | kFlagNested))) continue;
    auto [end, first_of_thread] = thread_end.try_emplace(call.thread, 0);
    int64_t before = first_of_thread ? -1 : call.start_ns - end->second;
    end->second = std::max(end->second, call.start_ns + std::max<int64_t>(0, call.duration_ns));
    if (call.open() || !call.known() || IsPoll(call)) continue;
    uint64_t place = uint64_t{call.stack} << 32 ^ uint64_t { call.comm } << 16 ^ call.call;
    Site*& site = places[place];
    if (!site) {
      CallFields fields = FieldsOf(call);
      std::string name = CallName(process, call), comm = fields.comm ? CommName(process, call.comm) : "";
      site = &sites_[KeyOf(name, comm, lanes->Site(call.stack))];
      if (site->call.empty()) {
        site->call = std::move(name), site->comm = std::move(comm);
        if (call.stack) site->line = DescribeFrame(views->Of(process, call.stack).source_frame());
      }
    }
    site->times[kDuration].Add(call.duration_ns);
    total_ns_ += call.duration_ns + std::max<int64_t>(0, before);
    if (before >= 0) site->times[kOwnTime].Add(before);
    if (!FieldsOf(call).seq) continue;
    auto [group, fresh] = groups.try_emplace(call.comm, nullptr);
    if (fresh) group->second = matching_.Group(UidOf(process, call));
    if (!group->second || call.seq >= group->second->longest) continue;
    int64_t last = LastEntry(static_cast<size_t>(group->second - matching_.groups.data()), call.seq);
    int64_t waited = std::min(call.duration_ns, last - timeline_.At(index, call.start_ns));
    site->times[kWaiting].Add(std::max<int64_t>(0, waited));
  }
}

std::vector<SlowerSite> FindSlower(const SiteTimes& good, const SiteTimes& bad) {
  // Smaller ones are between any two runs of a program.
  constexpr double kClearly = 1.25, kShare = 0.01;
  constexpr int64_t kLeastNs = 20'000;
  std::vector<SlowerSite> slower;
  for (const auto& [key, site] : bad.sites()) {
    auto before = good.sites().find(key);
    if (before == good.sites().end()) continue;
    for (const auto& [measure, times] : site.times) {
      auto known = before->second.times.find(measure);
      if (known == before->second.times.end()) continue;
      SlowerSite row{site.call, site.comm, site.line, NameOf(measure), known->second.Summary(), times.Summary(), 0};
      double good_mean = static_cast<double>(row.good.total_ns) / static_cast<double>(row.good.calls);
      double bad_mean = static_cast<double>(row.bad.total_ns) / static_cast<double>(row.bad.calls);
      row.excess_ns = static_cast<int64_t>((bad_mean - good_mean) * static_cast<double>(row.bad.calls));
      bool clearly = bad_mean > kClearly * good_mean && bad_mean - good_mean > kLeastNs;
      if (clearly && static_cast<double>(row.excess_ns) > kShare * static_cast<double>(bad.total_ns()))
        slower.push_back(std::move(row));
    }
  }
  std::sort(slower.begin(), slower.end(),
            [](const SlowerSite& a, const SlowerSite& b) { return a.excess_ns > b.excess_ns; });
  return slower;
}

}  // namespace ddbg::analyzer
