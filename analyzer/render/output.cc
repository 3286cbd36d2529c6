#include "analyzer/render/output.h"

#include <signal.h>

namespace ddbg::analyzer {

constexpr size_t kPieceBytes = 64 << 10;

Output::Output(FILE* file) : file_(file), terminal_(Terminal::Of(file)) {
  // A closed pipe shall be an error of fwrite, not the end of the process.
  signal(SIGPIPE, SIG_IGN);
}

bool Output::Write(std::string_view text) {
  if (gone_) return false;
  buffer_ += text;
  return buffer_.size() < kPieceBytes || Flush();
}

bool Output::Flush() {
  if (!gone_ && !buffer_.empty()) {
    gone_ = fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size() || fflush(file_) != 0;
  }
  buffer_.clear();
  return !gone_;
}

}  // namespace ddbg::analyzer
