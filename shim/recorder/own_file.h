// A descriptor of ours in a program that may close any descriptor and get the number back for a file of its own.
#pragma once

#include <sys/types.h>

namespace ddbg::shim {

class OwnFile {
 public:
  OwnFile() = default;

  // Takes `fd` over, to a number of 500 or more where the limits allow it: out of the way of programs that use or close
  // low ones. It is closed on exec.
  static OwnFile Adopt(int fd) noexcept;

  // The descriptor if it is still the file it was, else -1. A system call.
  int fd() const noexcept;

  // Closes it, if it is still ours.
  void Close() noexcept;

 private:
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace ddbg::shim
