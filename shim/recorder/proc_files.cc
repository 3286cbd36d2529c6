#include "shim/recorder/proc_files.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

namespace ddbg::shim {

std::string ReadSmallFile(const std::string& path, size_t limit) {
  std::string content;
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return content;
  char buffer[4096];
  ssize_t n;
  while (content.size() < limit && (n = read(fd, buffer, sizeof(buffer))) > 0) content.append(buffer, n);
  close(fd);
  return content;
}

std::string ReadFirstLine(const std::string& path) {
  std::string content = ReadSmallFile(path);
  return content.substr(0, content.find('\n'));
}

std::string ReadLink(const char* path) {
  char target[PATH_MAX];
  ssize_t n = readlink(path, target, sizeof(target));
  return n > 0 ? std::string(target, n) : std::string();
}

}  // namespace ddbg::shim
