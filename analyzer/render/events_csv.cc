#include <fmt/format.h>

#include <array>
#include <iterator>

#include "analyzer/render/events.h"
#include "analyzer/report/event_fields.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kColumns = std::size(kEventKeys);

// RFC 4180, 2: what has a separator, a quote or a line break in it is quoted, and its quotes doubled.
std::string Field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// The cells of a line. PutEvent's order is that of the columns, so that a key is looked for from the last one on; a
// test holds PutEvent to it.
class CsvSink {
 public:
  void Number(std::string_view key, std::integral auto value) {
    fmt::format_to(std::back_inserter(Cell(key)), "{}", value);
  }
  void Real(std::string_view key, double value) { fmt::format_to(std::back_inserter(Cell(key)), "{}", value); }
  void Word(std::string_view key, std::string_view word) { Cell(key) += word; }
  void Text(std::string_view key, KeptText& kept) {
    if (kept.encoded.empty()) kept.encoded = Field(kept.text);
    Cell(key) += kept.encoded;
  }
  void Handle(std::string_view key, uint64_t handle) { fmt::format_to(std::back_inserter(Cell(key)), "{:#x}", handle); }
  void True(std::string_view key) { Cell(key) += "true"; }
  void Null(std::string_view) {}
  void Numbers(std::string_view key, const std::vector<uint64_t>& numbers) {
    Cell(key) += fmt::format("{}", fmt::join(numbers, " "));
  }
  void Stack(KeptStack& stack) { Text("stack", stack.line); }

  const std::string& Finish() {
    line_.clear();
    for (size_t i = 0; i < kColumns; ++i) {
      if (i) line_ += ',';
      line_ += cells_[i];
      cells_[i].clear();
    }
    next_ = 0;
    line_ += "\r\n";
    return line_;
  }

 private:
  std::string& Cell(std::string_view key) {
    while (next_ + 1 < kColumns && kEventKeys[next_] != key) ++next_;
    return cells_[next_++];
  }

  std::array<std::string, kColumns> cells_;
  size_t next_ = 0;
  std::string line_;
};

}  // namespace

void PrintEventsCsv(const Run& run, const Timeline& timeline, const EventFilter& filter, StackViews* views, Output& out,
                    const Steps* steps) {
  out.Write(fmt::format("{}\r\n", fmt::join(kEventKeys, ",")));
  std::vector<EventTexts> texts;
  for (const Process& process : run.processes) texts.emplace_back(process, views);
  CsvSink sink;
  ForEachEvent(
      run, timeline, filter,
      [&](const Event& event) {
        PutEvent(run.processes[event.process], event, &texts[event.process], &sink);
        return out.Write(sink.Finish());
      },
      steps);
}

}  // namespace ddbg::analyzer
