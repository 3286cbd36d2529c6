// Small readers of /proc and /etc for the sender thread.
#pragma once

#include <string>

namespace ddbg::shim {

// Whole file up to `limit` bytes; "" if it cannot be read.
std::string ReadSmallFile(const std::string& path, size_t limit = 1 << 20);
// Same, up to the first newline.
std::string ReadFirstLine(const std::string& path);
std::string ReadLink(const char* path);

}  // namespace ddbg::shim
