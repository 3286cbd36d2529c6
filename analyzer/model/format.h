// Numbers and table cells for people. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddbg::analyzer {

// "1,204"
std::string Grouped(uint64_t number);

// "1.9 KiB"
std::string BytesText(uint64_t bytes);

// "850 ns", "12.4 us", "3.20 ms", "12.3 s", "2 h 03 min": a length of time.
std::string DurationText(int64_t ns);

// "2024-05-01 12:00:00.123 UTC" of a CLOCK_REALTIME.
std::string WallClockText(int64_t realtime_ns);

// "1 record", "2 records"
std::string Counted(uint64_t number, std::string_view noun);

// "0,1,4-7"; at most `max_parts` parts, then ",…".
std::string RanksText(const std::vector<int32_t>& ascending, size_t max_parts = 12);

// Columns as wide as their widest cell, two spaces between. A column of numbers is set to the right. Rows have as many
// cells as the header.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string Text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ddbg::analyzer
