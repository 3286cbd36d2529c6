#include "analyzer/render/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace ddbg::analyzer {
namespace {

constexpr size_t kNarrowest = 40;  // below that wrapped text is worse than text that runs over
constexpr size_t kHanging = 4;

ColorMode color_mode = ColorMode::kAuto;

const char* CodeOf(Tone tone) {
  switch (tone) {
    case Tone::kPlain: break;
    case Tone::kTitle: return "\x1b[1m";
    case Tone::kGood: return "\x1b[1;32m";
    case Tone::kBad: return "\x1b[1;31m";
    case Tone::kDoubt: return "\x1b[33m";
    case Tone::kCommand: return "\x1b[36m";
    case Tone::kQuiet: return "\x1b[2m";
  }
  return "";
}

bool IsSet(const char* name) {
  const char* value = getenv(name);
  return value && *value;
}

bool WantsColor(bool terminal) {
  if (color_mode != ColorMode::kAuto) return color_mode == ColorMode::kAlways;
  const char* kind = getenv("TERM");
  return terminal && !IsSet("NO_COLOR") && !(kind && strcmp(kind, "dumb") == 0);
}

size_t ColumnsOf(int fd) {
  winsize size = {};
  size_t columns = ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
  const char* told = getenv("COLUMNS");
  if (columns == 0 && told) columns = static_cast<size_t>(std::max(0L, strtol(told, nullptr, 10)));
  if (columns == 0) columns = 80;
  return std::max(columns, kNarrowest);
}

std::string Harmless(std::string_view text) {
  std::string clean(text);
  for (char& c : clean)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f) c = '?';
  return clean;
}

}  // namespace

Terminal Terminal::Of(FILE* file) {
  int fd = fileno(file);
  bool terminal = isatty(fd) == 1;
  return Terminal(WantsColor(terminal), terminal ? ColumnsOf(fd) : 0);
}

void Terminal::SetColorMode(ColorMode mode) { color_mode = mode; }

size_t WidthOf(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string Terminal::Paint(Tone tone, std::string_view text) const {
  std::string clean = Harmless(text);
  if (!colored_ || tone == Tone::kPlain || clean.empty()) return clean;
  return CodeOf(tone) + clean + "\x1b[0m";
}

std::string Terminal::Paragraph(std::string_view text, size_t indent, Tone tone) const {
  std::string lines, line;
  size_t margin = indent;
  auto finish = [&] {
    lines += std::string(margin, ' ') + Paint(tone, line) + "\n";
    line.clear();
    margin = indent + kHanging;
  };
  if (columns_ == 0) {
    line = text;
    finish();
    return lines;
  }
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && margin + WidthOf(line) + 1 + WidthOf(word) > columns_) finish();
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty() || lines.empty()) finish();
  return lines;
}

std::string Terminal::Labelled(Tone tone, std::string_view label, std::string_view text) const {
  std::string lines = Paragraph(std::string(label) + ": " + std::string(text));
  return Paint(tone, label) + lines.substr(label.size());
}

}  // namespace ddbg::analyzer
