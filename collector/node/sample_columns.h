// Samples of one subject on their way into a file: columns that become one Samples packet (ddbg.proto).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/node/proc_text.h"

namespace ddbg::collector {

enum class Subject : int32_t { kProcess = 0, kSystem = 1, kCgroup = 2, kInterface = 3, kFileSystem = 4 };

class SampleColumns {
 public:
  explicit SampleColumns(Subject subject, std::string name = "") : subject_(subject), name_(std::move(name)) {}

  // An entry. A metric that is missing keeps the value it had; one that is new had it before, too.
  void Add(int64_t t_ns, const std::vector<MetricValue>& values);
  void AddKernelWait(int64_t t_ns, std::string where);

  size_t size() const { return t_ms_.size(); }
  int64_t first_ns() const { return t_ms_.empty() ? 0 : t_ms_.front() * 1'000'000; }
  int64_t last_ns() const { return t_ms_.empty() ? 0 : t_ms_.back() * 1'000'000; }

  // The value of the last entry, or `otherwise`. Also after Take.
  int64_t Last(Metric metric, int64_t otherwise = 0) const;

  // Appends what there is as a packet and begins anew; nothing if there is nothing.
  void Take(std::string* chunk);

  // The same, but what says only what was taken before is dropped.
  void TakeIfChanged(std::string* chunk);

 private:
  struct Column {
    Metric metric;
    int64_t last;
    int64_t taken;  // the last value in a packet
    bool ever_taken = false;
    std::vector<int64_t> values;
  };

  void Clear();
  Column& Find(Metric metric, int64_t value);

  Subject subject_;
  std::string name_;
  std::vector<int64_t> t_ms_;
  std::vector<Column> columns_;
  std::vector<std::pair<int64_t, std::string>> kernel_waits_;
};

}  // namespace ddbg::collector
