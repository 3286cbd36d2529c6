// A client's shared-memory region (proto/ring_layout.h), checked and mapped. What a client may write at any time is
// never trusted: reading it is safe whatever it holds, since the file cannot be shrunk under the mapping.
#pragma once

#include <sys/types.h>

#include <utility>

#include "collector/unique_fd.h"
#include "proto/result.h"
#include "proto/ring_layout.h"

namespace ddbg::collector {

class ClientRegion {
 public:
  // Takes the memfd a client sent. Fails with a sentence if it is not a region of this version that can be mapped for
  // good: not a memfd, too small, not sealed against shrinking, or a header or lane positions that cannot be.
  static Result<ClientRegion> Map(UniqueFd memfd);

  ClientRegion(ClientRegion&& other) noexcept { *this = std::move(other); }
  ClientRegion& operator=(ClientRegion&& other) noexcept;
  ~ClientRegion();

  const Region& region() const { return region_; }
  bool SameFileAs(const ClientRegion& other) const { return device_ == other.device_ && inode_ == other.inode_; }

 private:
  ClientRegion() = default;

  Region region_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace ddbg::collector
