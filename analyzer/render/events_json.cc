#include <fmt/format.h>

#include "analyzer/render/events.h"
#include "analyzer/render/json_line.h"
#include "analyzer/report/event_fields.h"

namespace ddbg::analyzer {
namespace {

Json FrameJson(const Frame& frame) {
  Json json = Json::object();
  if (!frame.function.empty()) json["function"] = frame.function;
  if (!frame.file.empty()) json["file"] = frame.file;
  if (frame.line > 0) json["line"] = frame.line;
  if (frame.python) {
    json["language"] = "python";
  } else if (!frame.module.empty()) {
    json["module"] = frame.module;
    json["offset"] = frame.offset;
  } else {
    json["address"] = frame.address;
  }
  if (frame.inlined) json["inlined"] = true;
  return json;
}

std::string StackText(const StackView& view) {
  Json frames = Json::array();
  for (const Frame& frame : view.frames) frames.push_back(FrameJson(frame));
  return Dump(frames);
}

class JsonSink {
 public:
  void Number(std::string_view key, std::integral auto value) { line_.Number(key, value); }
  void Real(std::string_view key, double value) { line_.Raw(key, fmt::format("{}", value)); }
  void Word(std::string_view key, std::string_view word) { line_.Raw(key, fmt::format("\"{}\"", word)); }
  void Text(std::string_view key, KeptText& kept) {
    if (kept.encoded.empty()) kept.encoded = JsonLine::StringText(kept.text);
    line_.Raw(key, kept.encoded);
  }
  // Words of the process: hexadecimal text, since a number of JSON may not hold them.
  void Handle(std::string_view key, uint64_t handle) { line_.Raw(key, fmt::format("\"{:#x}\"", handle)); }
  void True(std::string_view key) { line_.Raw(key, "true"); }
  void Null(std::string_view key) { line_.Null(key); }
  void Numbers(std::string_view key, const std::vector<uint64_t>& numbers) { line_.Raw(key, Dump(Json(numbers))); }
  void Stack(KeptStack& stack) {
    if (stack.line.encoded.empty()) stack.line.encoded = StackText(*stack.view);
    line_.Raw("stack", stack.line.encoded);
  }

  const std::string& Finish() { return line_.Finish(); }

 private:
  JsonLine line_;
};

}  // namespace

void PrintEventsJson(const Run& run, const Timeline& timeline, const EventFilter& filter, StackViews* views,
                     Output& out, const Steps* steps) {
  std::vector<EventTexts> texts;
  for (const Process& process : run.processes) texts.emplace_back(process, views);
  JsonSink sink;
  ForEachEvent(
      run, timeline, filter,
      [&](const Event& event) {
        PutEvent(run.processes[event.process], event, &texts[event.process], &sink);
        return out.Write(sink.Finish());
      },
      steps);
}

}  // namespace ddbg::analyzer
