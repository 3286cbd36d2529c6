#include "shim/recorder/own_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ddbg::shim {
namespace {

constexpr int kFirstNumber = 500;

}  // namespace

OwnFile OwnFile::Adopt(int fd) noexcept {
  OwnFile file;
  if (fd < 0) return file;
  int high = fcntl(fd, F_DUPFD_CLOEXEC, kFirstNumber);
  if (high >= 0) {
    close(fd);
    fd = high;
  }
  struct stat found;
  if (fstat(fd, &found) != 0) return file;
  file.fd_ = fd;
  file.device_ = found.st_dev;
  file.inode_ = found.st_ino;
  return file;
}

int OwnFile::fd() const noexcept {
  struct stat found;
  if (fd_ < 0 || fstat(fd_, &found) != 0) return -1;
  return found.st_dev == device_ && found.st_ino == inode_ ? fd_ : -1;
}

void OwnFile::Close() noexcept {
  int fd = this->fd();
  if (fd >= 0) close(fd);
  fd_ = -1;
}

}  // namespace ddbg::shim
