#include "collector/client_region.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <string>
#include <system_error>

namespace ddbg::collector {
namespace {

// A file that could shrink, or that lies on a disk or in huge pages, could end the collector by SIGBUS.
const char* FaultOfFile(int fd, const struct stat& file) {
  if (!S_ISREG(file.st_mode)) return "what came with it is not a memory file";
  struct statfs system;
  if (fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC) return "its region is not a memory file";
  int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return "its region is not sealed against shrinking";
  if (static_cast<uint64_t>(file.st_size) < kRegionBytes) return "its region is too small";
  return nullptr;
}

const char* FaultOfHeader(const RegionHeader& header) {
  if (header.magic != kRegionMagic) return "its region does not begin as one";
  if (header.version != kRegionVersion)
    return "its region has another version; libddbg.so and ddbg-collector must match";
  if (header.max_threads != kMaxThreads || header.region_bytes != kRegionBytes || header.cells_offset != kCellsOffset) {
    return "its region is laid out differently; libddbg.so and ddbg-collector must match";
  }
  return nullptr;
}

const char* FaultOfPositions(const Region& region) {
  for (uint32_t slot = 0; slot < kMaxThreads; ++slot) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const LaneState& state = region.slot(slot)->lane[lane];
      uint64_t written = state.written.load(std::memory_order_acquire);
      uint64_t head = state.head.load(std::memory_order_acquire);
      if (head < written || head - written > kLaneCells[lane]) return "positions in its region cannot be";
    }
  }
  return nullptr;
}

}  // namespace

ClientRegion& ClientRegion::operator=(ClientRegion&& other) noexcept {
  std::swap(region_, other.region_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

ClientRegion::~ClientRegion() {
  if (region_.base != nullptr) munmap(region_.base, kRegionBytes);
}

Result<ClientRegion> ClientRegion::Map(UniqueFd memfd) {
  struct stat file;
  if (!memfd || fstat(memfd.get(), &file) != 0) return Error{"no region came with its first frame", 0};
  if (const char* fault = FaultOfFile(memfd.get(), file)) return Error{fault, 0};
  void* base = mmap(nullptr, kRegionBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd.get(), 0);
  if (base == MAP_FAILED) return Error{"its region cannot be mapped: " + std::generic_category().message(errno), errno};
  ClientRegion mapped;
  mapped.region_.base = static_cast<unsigned char*>(base);
  mapped.device_ = file.st_dev;
  mapped.inode_ = file.st_ino;
  const char* fault = FaultOfHeader(*mapped.region_.header());
  if (fault == nullptr) fault = FaultOfPositions(mapped.region_);
  if (fault != nullptr) return Error{fault, 0};
  return mapped;
}

}  // namespace ddbg::collector
