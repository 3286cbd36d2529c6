// Long runs: what stays of dropped detail, and the drift of the counter that times come from.
#include <algorithm>

#include "analyzer/load/process_loader.h"
#include "proto/batch_reader.h"

namespace ddbg::analyzer {

void ProcessLoader::AddClockPoint(const proto::ClockPoint& point) {
  if (point.told_ns() != 0) clock_.Add(point.told_ns(), point.monotonic_ns());
  if (point.realtime_ns() != 0) process_.wall.push_back({point.monotonic_ns(), point.realtime_ns()});
}

// From what the process's counter said, by a rate that was measured once, to the clock of its host.
void ProcessLoader::CorrectTimes() {
  clock_.Begin(told_start_ns_);
  auto correct = [&](int64_t* t_ns) { *t_ns = clock_.Corrected(*t_ns); };
  std::vector<Call>& calls = process_.calls;
  for (; corrected_ < calls.size(); ++corrected_) correct(&calls[corrected_].start_ns);
  std::vector<CallSums>& sums = process_.dropped.sums;
  for (; corrected_sums_ < sums.size(); ++corrected_sums_)
    correct(&sums[corrected_sums_].t_min_ns), correct(&sums[corrected_sums_].t_max_ns);
  if (dropped_until_told_ns_ != 0) process_.dropped.until_ns = clock_.Corrected(dropped_until_told_ns_);
  process_.start_monotonic_ns = clock_.Corrected(told_start_ns_);
  if (last_told_ns_ != 0) Saw(clock_.Corrected(last_told_ns_));
}

// ---- What stays of dropped detail -------------------------------------------------------------------------------

void ProcessLoader::AddKept(const proto::Batch& batch) {
  if (!BatchReader::Fits(batch)) {
    malformed_ = true;
    return;
  }
  uint32_t thread = ThreadIndex(batch.thread(), batch.tid());
  BatchReader reader(batch);
  for (uint32_t i = 0; i < batch.records(); ++i) AppendRecord(reader.Next(), thread);
}

void ProcessLoader::AddSummary(const proto::Summary& s) {
  int n = s.call_size();
  if (s.comm_size() != n || s.records_size() != n || s.duration_size() != n || s.longest_size() != n ||
      s.count_size() != n || s.last_seq_size() != n) {
    malformed_ = true;
    return;
  }
  for (int i = 0; i < n; ++i) {
    CallSums sums{s.t_min_ns(),  s.t_max_ns(), 0,          s.comm(i),    s.records(i),
                  s.duration(i), s.longest(i), s.count(i), s.last_seq(i)};
    sums.call = calls_.Own(static_cast<uint16_t>(std::min<uint32_t>(s.call(i), UINT16_MAX)));
    process_.dropped.sums.push_back(sums);
  }
}

void ProcessLoader::AddDropped(const proto::Dropped& d) {
  int n = d.call_size(), lanes = d.thread_size();
  if (d.comm_size() != n || d.peer_size() != n || d.tag_size() != n || d.op_size() != n || d.flags_size() != n ||
      d.messages_size() != n || d.lane_size() != lanes || d.end_position_size() != lanes) {
    malformed_ = true;
    return;
  }
  dropped_until_told_ns_ = std::max(dropped_until_told_ns_, d.until_ns());
  process_.dropped.records = d.records();
  process_.dropped.uncounted = d.uncounted();
  last_told_ns_ = std::max(last_told_ns_, d.until_ns());
  // A part that was digested and could not be removed is not read again.
  for (int i = 0; i < lanes; ++i) seen_[{d.thread(i), d.lane(i)}].Add(0, d.end_position(i));
  for (int i = 0; i < n; ++i) {
    DroppedMessages messages;
    messages.call = calls_.Own(static_cast<uint16_t>(std::min<uint32_t>(d.call(i), UINT16_MAX)));
    messages.op = static_cast<uint8_t>(d.op(i));
    messages.flags = static_cast<uint8_t>(d.flags(i));
    messages.comm = d.comm(i);
    messages.peer = d.peer(i);
    messages.tag = d.tag(i);
    messages.times = d.messages(i);
    process_.dropped.messages.push_back(messages);
  }
}

}  // namespace ddbg::analyzer
