#include "collector/listen_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <system_error>

namespace ddbg::collector {
namespace {

Error SystemError(const std::string& what, int code) {
  return Error{what + ": " + std::generic_category().message(code) + ".", code};
}

// Whoever can write into the directory can take the socket's place.
Result<void> PrepareDirectory(const std::string& directory) {
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return SystemError("Cannot make the socket's directory " + directory, errno);
  }
  struct stat found;
  if (lstat(directory.c_str(), &found) != 0) return SystemError("Cannot look at " + directory, errno);
  const char* fault = nullptr;
  if (S_ISLNK(found.st_mode)) {
    fault = "is a symbolic link";
  } else if (!S_ISDIR(found.st_mode)) {
    fault = "is not a directory";
  } else if (found.st_uid != geteuid()) {
    fault = "belongs to another user";
  } else if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    fault = "can be written by others";
  }
  if (fault == nullptr) return {};
  return Error{"The socket's directory " + directory + " " + fault +
                   "; choose one of your own, of mode 0700, with --socket or DDBG_SOCKET.",
               EPERM};
}

}  // namespace

ListenSocket& ListenSocket::operator=(ListenSocket&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_fd_, other.lock_fd_);
  std::swap(fd_, other.fd_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

ListenSocket::~ListenSocket() {
  struct stat found;
  // Not the socket of another collector: a cleaner of /tmp may have removed the lock file and let one in.
  bool ours = fd_ >= 0 && stat(path_.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_;
  if (ours) unlink(path_.c_str());
  if (fd_ >= 0) close(fd_);
  if (lock_fd_ >= 0) close(lock_fd_);
}

Result<ListenSocket> ListenSocket::Open(const std::string& path) {
  ListenSocket socket;
  socket.path_ = path;
  Result<void> done = PrepareDirectory(std::filesystem::path(path).parent_path().string());
  if (done) done = socket.Lock();
  if (done) done = socket.Bind();
  if (!done) return done.error();
  return socket;
}

Result<void> ListenSocket::Lock() {
  std::string lock = path_ + ".lock";
  lock_fd_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock_fd_ < 0) return SystemError("Cannot open " + lock, errno);
  if (flock(lock_fd_, LOCK_EX | LOCK_NB) == 0) return {};
  if (errno == EWOULDBLOCK) return Error{"Another collector serves " + path_ + ".", EADDRINUSE};
  return SystemError("Cannot lock " + lock, errno);
}

Result<void> ListenSocket::Bind() {
  struct stat made;
  if (lstat(path_.c_str(), &made) == 0 && !S_ISSOCK(made.st_mode)) {
    return Error{path_ + " exists and is not a socket; choose another path with --socket or DDBG_SOCKET.", EPERM};
  }
  unlink(path_.c_str());
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return SystemError("Cannot make a socket", errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
  mode_t before = umask(0177);
  int failed = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  int code = errno;
  umask(before);
  if (failed == 0) {
    failed = stat(path_.c_str(), &made) != 0 || listen(fd, SOMAXCONN) != 0;
    code = errno;
  }
  if (failed != 0) {
    close(fd);
    return SystemError("Cannot listen on " + path_, code);
  }
  fd_ = fd;
  device_ = made.st_dev;
  inode_ = made.st_ino;
  return {};
}

}  // namespace ddbg::collector
