#include "collector/node/node_telemetry.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "collector/node/file_systems.h"
#include "collector/node/network.h"
#include "collector/node/system.h"
#include "proto/host_clock.h"

namespace ddbg::collector {
namespace {

constexpr std::chrono::seconds kPeriod{1};
constexpr size_t kBatch = 10;
constexpr int64_t kMountsEveryNs = 10'000'000'000;

}  // namespace

void NodeTelemetry::Join() {
  if (watched_++ != 0) return;
  LookAtMounts();
  Sample();
  Write();
  WaitForNext();
}

void NodeTelemetry::Leave() {
  if (--watched_ != 0) return;
  timer_.cancel();
  Write();
}

NodeTelemetry::Following NodeTelemetry::Follow(const std::vector<CgroupPlace>& places) {
  Following following;
  bool fresh = false;
  for (const CgroupPlace& place : places) {
    std::weak_ptr<Followed>& known = cgroups_[place.name()];
    std::shared_ptr<Followed> followed = known.lock();
    if (followed == nullptr) {
      Cgroup cgroup(place, DirectoryOf(place, cgroup_mounts_));
      if (!cgroup.exists()) continue;
      followed =
          std::make_shared<Followed>(Followed{std::move(cgroup), SampleColumns{Subject::kCgroup, place.name()}, 0, 0});
      known = followed;
      fresh = true;
    }
    following.push_back(std::move(followed));
  }
  if (fresh) {  // what its counters rise from must be in the file before its processes can be killed
    now_ns_ = HostMonotonicNs();
    SampleCgroups();
    Write();
  }
  return following;
}

void NodeTelemetry::LookAgain(int64_t since_ns) {
  if (watched_ == 0) return;
  if (now_ns_ <= since_ns) Sample();
  Write();
}

void NodeTelemetry::WaitForNext() {
  timer_.expires_after(kPeriod);
  timer_.async_wait([this](const asio::error_code& error) {
    if (error || watched_ == 0) return;
    Sample();
    if (urgent_ || system_.size() >= kBatch) Write();
    WaitForNext();
  });
}

void NodeTelemetry::Sample() {
  now_ns_ = HostMonotonicNs();
  if (now_ns_ - mounts_ns_ >= kMountsEveryNs) LookAtMounts();
  if (std::optional<ClockStepSeen> step = clock_steps_.Look(ClockReadings::Now())) {
    AppendClockStep(*step, &steps_);
    urgent_ = true;
  }
  SampleSystem();
  SampleCgroups();
  SampleNetwork();
  SampleFileSystems();
}

void NodeTelemetry::SampleSystem() {
  int64_t kills = system_.Last(Metric::kNodeOomKills);
  bool first = system_.size() == 0;
  system_.Add(now_ns_, ReadSystem());
  urgent_ = urgent_ || (!first && system_.Last(Metric::kNodeOomKills) != kills);
}

void NodeTelemetry::SampleCgroups() {
  for (auto entry = cgroups_.begin(); entry != cgroups_.end();) {
    std::shared_ptr<Followed> followed = entry->second.lock();
    if (followed == nullptr) {
      entry = cgroups_.erase(entry);
      continue;
    }
    ++entry;
    std::vector<MetricValue> values = followed->cgroup.Read();
    if (values.empty()) continue;
    followed->columns.Add(now_ns_, values);
    int64_t kills = followed->columns.Last(Metric::kCgroupOomKills), frozen = followed->columns.Last(Metric::kFrozen);
    urgent_ = urgent_ || kills != followed->oom_kills || frozen != followed->frozen;
    followed->oom_kills = kills;
    followed->frozen = frozen;
  }
}

void NodeTelemetry::SampleNetwork() {
  for (const auto& [name, values] : ReadNetwork()) {
    SampleColumns& columns = interfaces_.try_emplace(name, Subject::kInterface, name).first->second;
    int64_t changes = columns.Last(Metric::kCarrierChanges, -1), up = columns.Last(Metric::kLinkUp, -1);
    columns.Add(now_ns_, values);
    urgent_ = urgent_ || (changes >= 0 && columns.Last(Metric::kCarrierChanges) != changes) ||
              (up >= 0 && columns.Last(Metric::kLinkUp) != up);
  }
}

void NodeTelemetry::SampleFileSystems() {
  std::set<std::string> paths(tmpfs_.begin(), tmpfs_.end());
  for (const std::string& path : run_dirs_.OpenPaths()) paths.insert(path);
  for (const std::string& path : paths) {
    std::vector<MetricValue> values = ReadFileSystem(path);
    if (values.empty()) continue;
    file_systems_.try_emplace(path, Subject::kFileSystem, path).first->second.Add(now_ns_, values);
  }
}

void NodeTelemetry::Write() {
  urgent_ = false;
  int64_t first_ns = system_.size() > 0 ? system_.first_ns() : now_ns_, last_ns = now_ns_;
  std::string packets = std::exchange(steps_, {});
  system_.Take(&packets);
  for (auto& [name, columns] : interfaces_) columns.TakeIfChanged(&packets);
  for (auto& [name, columns] : file_systems_) columns.TakeIfChanged(&packets);
  for (auto& [name, weak] : cgroups_) {
    if (std::shared_ptr<Followed> followed = weak.lock()) followed->columns.TakeIfChanged(&packets);
  }
  if (!packets.empty()) run_dirs_.AppendToAll(packets, first_ns, last_ns);
}

void NodeTelemetry::LookAtMounts() {
  mounts_ns_ = HostMonotonicNs();
  std::optional<std::string> mounts = ReadText(AT_FDCWD, "/proc/self/mountinfo", 4 << 20);
  if (!mounts) return;
  cgroup_mounts_ = ParseCgroupMounts(*mounts);
  tmpfs_ = ParseTmpfsMounts(*mounts);
}

}  // namespace ddbg::collector
