#include "analyzer/export/comm_slices.h"

#include <algorithm>

#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {

CommSlices::CommSlices(const Run& run, const Timeline& timeline)
    : run_(run), timeline_(timeline), device_end_(run.processes.size()) {
  for (size_t i = 0; i < run.processes.size(); ++i) {
    if (run.processes[i].streams.empty()) continue;  // completions are of MPI's requests
    for (const Call& call : run.processes[i].calls) {
      if (call.call != kCallCompletion) continue;
      int64_t& end = device_end_[i][call.aux];
      end = std::max(end, call.start_ns + call.duration_ns);
    }
  }
}

std::optional<CommSlice> CommSlices::Of(const CommGroup& group, size_t seq) const {
  CommSlice slice;
  for (const Member& member : group.members) {
    size_t index = member.At(seq);
    if (index == kNoIndex) {
      slice.missing.push_back(member.comm_rank);
      continue;
    }
    const Process& process = run_.processes[member.process];
    const Call& call = process.calls[index];
    int64_t entry = timeline_.At(member.process, call.start_ns);
    if (slice.came == 0 || entry < slice.first_entry_ns) {
      slice.first_entry_ns = entry;
      slice.first_process = member.process;
      slice.first_call = index;
    }
    if (slice.came == 0 || entry > slice.last_entry_ns)
      slice.last_entry_ns = entry, slice.last_process = member.process;
    ++slice.came;
    int64_t end = call.open() ? process.last_seen_ns : call.start_ns + call.duration_ns;
    if (call.open()) {
      slice.never_returned.push_back(member.comm_rank);
      if (process.end.how != ProcessEnd::kRunning) end = std::max(process.end.t_ns, call.start_ns);
    }
    if (IsNccl(call)) {
      auto done = device_end_[member.process].find(call.aux);
      if (done != device_end_[member.process].end()) end = std::max(end, done->second), slice.on_device = true;
    }
    slice.end_ns = std::max(slice.end_ns, timeline_.At(member.process, end));
  }
  if (slice.came == 0) return std::nullopt;
  slice.end_ns = std::max(slice.end_ns, slice.last_entry_ns);
  std::sort(slice.missing.begin(), slice.missing.end());
  std::sort(slice.never_returned.begin(), slice.never_returned.end());
  return slice;
}

}  // namespace ddbg::analyzer
