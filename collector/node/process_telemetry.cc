#include "collector/node/process_telemetry.h"

#include <utility>

#include "collector/packets.h"
#include "proto/host_clock.h"

namespace ddbg::collector {

ProcessTelemetry::ProcessTelemetry(NodeTelemetry& node, const Region& region, pid_t pid)
    : node_(node), region_(region), pid_(pid), sampler_(pid) {
  node_.Join();
}

bool ProcessTelemetry::Tick(PendingChunk* pending) {
  int64_t now = HostMonotonicNs();
  if (!sampler_.IsDue(now)) return false;
  bool moved = LookAtCgroups(pending);
  bool take = sampler_.Sample(now, RecordedThreads());
  if (take) Take(pending);
  return moved || take;
}

void ProcessTelemetry::End(int64_t ended_ns, PendingChunk* pending) {
  Take(pending);
  node_.LookAgain(ended_ns);
  cgroups_.clear();
}

void ProcessTelemetry::Take(PendingChunk* pending) {
  int64_t first, last;
  sampler_.Take(&pending->bytes, &first, &last);
  if (first != 0) pending->Cover(first, last);
}

// A launcher or the process itself may move it at any time.
bool ProcessTelemetry::LookAtCgroups(PendingChunk* pending) {
  std::optional<std::string> text = ReadText(AT_FDCWD, ("/proc/" + std::to_string(pid_) + "/cgroup").c_str());
  if (!text || *text == cgroup_text_) return false;
  cgroup_text_ = std::move(*text);
  cgroups_ = node_.Follow(PlacesOf(pid_, node_.cgroup_mounts()));
  AppendPacket(kPlacementPacket, &pending->bytes, [&](protozero::pbf_writer& placement) {
    for (const auto& followed : cgroups_) placement.add_bytes(1, followed->cgroup.place().name());
  });
  return true;
}

// Their ids mean something here only if the process counts as we do.
std::vector<uint32_t> ProcessTelemetry::RecordedThreads() const {
  std::vector<uint32_t> threads;
  if (region_.header()->pid != pid_) return threads;
  for (uint32_t slot = 0; slot < kMaxThreads; ++slot)
    if (uint32_t tid = region_.slot(slot)->tid.load(std::memory_order_relaxed)) threads.push_back(tid);
  return threads;
}

}  // namespace ddbg::collector
