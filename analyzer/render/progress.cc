#include "analyzer/render/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "analyzer/model/format.h"

namespace ddbg::analyzer {
namespace {

using namespace std::chrono_literals;
constexpr auto kPatience = 1s;
constexpr auto kPause = 200ms;

}  // namespace

ProgressLine::ProgressLine(FILE* file) : file_(file), terminal_(isatty(fileno(file)) == 1) {}

ProgressLine::~ProgressLine() {
  if (!shown_) return;
  fputs("\r\x1b[K", file_);
  fflush(file_);
}

Progress ProgressLine::callback() {
  if (!terminal_) return {};
  return [this](uint64_t done, uint64_t total, std::string_view what) { Show(done, total, what); };
}

void ProgressLine::Show(uint64_t done, uint64_t total, std::string_view what) {
  Clock::time_point now = Clock::now();
  if (!terminal_ || now - begin_ < kPatience || now - last_ < kPause) return;
  double seconds = std::chrono::duration<double>(now - begin_).count();
  fmt::print(file_, "\r{}\x1b[K", ProgressText(done, total, what, seconds));
  fflush(file_);
  shown_ = true;
  last_ = now;
}

std::string ProgressText(uint64_t done, uint64_t total, std::string_view what, double seconds) {
  if (total == 0) return fmt::format("{}: {}", what, BytesText(done));
  double share = done >= total ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
  std::string text = fmt::format("{}: {} of {}, {:.0f} %", what, BytesText(done), BytesText(total), share * 100);
  if (share > 0 && share < 1) text += fmt::format(", {:.0f} s left", seconds / share - seconds);
  return text;
}

}  // namespace ddbg::analyzer
