#include "analyzer/model/format.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace ddbg::analyzer {
namespace {

// Of UTF-8 text: bytes that begin a character.
size_t Width(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xc0) != 0x80; });
}

bool LooksLikeANumber(const std::string& cell) {
  return cell.empty() || cell == "-" || (cell[0] >= '0' && cell[0] <= '9');
}

}  // namespace

std::string Grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string BytesText(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double size = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}) {
    if (size < 1024) break;
    size /= 1024;
    unit = next;
  }
  return fmt::format("{:.{}f} {}", size, size < 100 ? 1 : 0, unit);
}

std::string DurationText(int64_t ns) {
  if (ns < 0) return "-" + DurationText(ns == INT64_MIN ? INT64_MAX : -ns);
  double t = static_cast<double>(ns);
  if (ns < 1000) return fmt::format("{} ns", ns);
  if (t < 1e6) return fmt::format("{:.3g} us", t / 1e3);
  if (t < 1e9) return fmt::format("{:.3g} ms", t / 1e6);
  if (t < 120e9) return fmt::format("{:.1f} s", t / 1e9);
  int64_t minutes = ns / 60'000'000'000;
  if (minutes < 60) return fmt::format("{} min {:02} s", minutes, ns / 1'000'000'000 % 60);
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string WallClockText(int64_t realtime_ns) {
  time_t seconds = realtime_ns / 1'000'000'000;
  tm parts = {};
  if (!gmtime_r(&seconds, &parts)) return "";
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03} UTC", parts, realtime_ns / 1'000'000 % 1000);
}

std::string Counted(uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", Grouped(number), noun, number == 1 ? "" : "s");
}

std::string RanksText(const std::vector<int32_t>& ranks, size_t max_parts) {
  std::string text;
  size_t parts = 0;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (parts++ == max_parts) return text + ",…";
    if (!text.empty()) text += ',';
    text += end - i > 2 ? fmt::format("{}-{}", ranks[i], ranks[end - 1]) : std::to_string(ranks[i]);
    i = end - i > 2 ? end : i + 1;
  }
  return text;
}

std::string Table::Text() const {
  std::vector<size_t> width(rows_[0].size(), 0);
  std::vector<bool> right(rows_[0].size(), true);
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (size_t c = 0; c < rows_[r].size(); ++c) {
      width[c] = std::max(width[c], Width(rows_[r][c]));
      if (r > 0 && !LooksLikeANumber(rows_[r][c])) right[c] = false;
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      std::string space(width[c] - Width(row[c]), ' ');
      line += (c ? "  " : "") + (right[c] ? space + row[c] : row[c] + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace ddbg::analyzer
