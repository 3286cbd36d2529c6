#include "shim/recorder/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <atomic>

namespace ddbg::shim {
namespace {

// The address of a string literal is its identity.
std::atomic<const char*> g_said[32];

bool IsFirstTime(const char* format) {
  for (auto& slot : g_said) {
    const char* seen = slot.load(std::memory_order_relaxed);
    if (seen == format) return false;
    if (seen) continue;
    if (slot.compare_exchange_strong(seen, format, std::memory_order_relaxed)) return true;
    if (seen == format) return false;
  }
  return false;
}

}  // namespace

void Say(const char* format, ...) {
  if (!IsFirstTime(format)) return;
  char line[1024];
  int n = snprintf(line, sizeof(line), "ddbg: ");
  va_list arguments;
  va_start(arguments, format);
  int m = vsnprintf(line + n, sizeof(line) - n - 1, format, arguments);
  va_end(arguments);
  if (m < 0) return;
  n = n + m < static_cast<int>(sizeof(line)) - 1 ? n + m : static_cast<int>(sizeof(line)) - 2;
  line[n++] = '\n';
  // One write, so that lines of many ranks do not mix. Nothing can be done if it fails.
  ssize_t ignored = write(STDERR_FILENO, line, n);
  (void)ignored;
}

}  // namespace ddbg::shim
