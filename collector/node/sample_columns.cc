#include "collector/node/sample_columns.h"

#include <algorithm>
#include <protozero/pbf_writer.hpp>

#include "collector/packets.h"

namespace ddbg::collector {
namespace {

// The entries as they are written: the first as it is, then deltas, without zeros at the end.
std::vector<int64_t> Deltas(const std::vector<int64_t>& values) {
  std::vector<int64_t> deltas(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t before = i == 0 ? 0 : static_cast<uint64_t>(values[i - 1]);
    deltas[i] = static_cast<int64_t>(static_cast<uint64_t>(values[i]) - before);
  }
  while (!deltas.empty() && deltas.back() == 0) deltas.pop_back();
  return deltas;
}

}  // namespace

SampleColumns::Column& SampleColumns::Find(Metric metric, int64_t value) {
  for (Column& column : columns_)
    if (column.metric == metric) return column;
  columns_.push_back({metric, value, 0, false, std::vector<int64_t>(t_ms_.size(), value)});
  return columns_.back();
}

void SampleColumns::Add(int64_t t_ns, const std::vector<MetricValue>& values) {
  for (const MetricValue& value : values) Find(value.metric, value.value).last = value.value;
  t_ms_.push_back(t_ns / 1'000'000);
  for (Column& column : columns_) column.values.push_back(column.last);
}

void SampleColumns::AddKernelWait(int64_t t_ns, std::string where) {
  kernel_waits_.emplace_back(t_ns / 1'000'000, std::move(where));
}

int64_t SampleColumns::Last(Metric metric, int64_t otherwise) const {
  for (const Column& column : columns_)
    if (column.metric == metric) return column.last;
  return otherwise;
}

void SampleColumns::Take(std::string* chunk) {
  if (t_ms_.empty()) return;
  AppendPacket(kSamplesPacket, chunk, [&](protozero::pbf_writer& samples) {
    if (subject_ != Subject::kProcess) samples.add_enum(1, static_cast<int32_t>(subject_));
    if (!name_.empty()) samples.add_bytes(2, name_);
    std::vector<int64_t> times = Deltas(t_ms_);
    times.resize(t_ms_.size());  // their number counts
    samples.add_packed_sint64(3, times.begin(), times.end());
    for (const Column& column : columns_) {
      std::vector<int64_t> deltas = Deltas(column.values);
      if (deltas.empty()) deltas.push_back(0);  // known to be 0 is not unknown
      protozero::pbf_writer one{samples, 4};
      one.add_uint32(1, static_cast<uint32_t>(column.metric));
      one.add_packed_sint64(2, deltas.begin(), deltas.end());
    }
    for (const auto& [t_ms, where] : kernel_waits_) {
      protozero::pbf_writer wait{samples, 5};
      wait.add_sint64(1, t_ms);
      wait.add_bytes(2, where);
    }
  });
  for (Column& column : columns_) column.taken = column.last, column.ever_taken = true;
  Clear();
}

void SampleColumns::TakeIfChanged(std::string* chunk) {
  bool same = std::all_of(columns_.begin(), columns_.end(), [](const Column& column) {
    return column.ever_taken && std::all_of(column.values.begin(), column.values.end(),
                                            [&](int64_t value) { return value == column.taken; });
  });
  same ? Clear() : Take(chunk);
}

void SampleColumns::Clear() {
  t_ms_.clear();
  kernel_waits_.clear();
  for (Column& column : columns_) column.values.clear();
}

}  // namespace ddbg::collector
