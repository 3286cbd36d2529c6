#include "tests/fakes/nccl/segment.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace nullnccl {
namespace {

std::string PathOf(const std::string& id) {
  const char* folder = getenv("NULLNCCL_SHM_DIR");
  return std::string(folder && *folder ? folder : "/dev/shm") + "/" + id;
}

}  // namespace

template <size_t kBytes>
size_t Pipe<kBytes>::Write(const void* from, size_t bytes) {
  uint64_t at = written.load(std::memory_order_relaxed);
  size_t room = kBytes - static_cast<size_t>(at - read.load(std::memory_order_acquire));
  size_t moved = std::min({bytes, room, kBytes - static_cast<size_t>(at % kBytes)});
  if (moved) memcpy(data + at % kBytes, from, moved);
  written.store(at + moved, std::memory_order_release);
  return moved;
}

template <size_t kBytes>
size_t Pipe<kBytes>::Read(void* to, size_t bytes) {
  uint64_t at = read.load(std::memory_order_relaxed);
  size_t there = static_cast<size_t>(written.load(std::memory_order_acquire) - at);
  size_t moved = std::min({bytes, there, kBytes - static_cast<size_t>(at % kBytes)});
  if (moved && to) memcpy(to, data + at % kBytes, moved);
  read.store(at + moved, std::memory_order_release);
  return moved;
}

template struct Pipe<kPipeBytes>;
template struct Pipe<kSignalPipeBytes>;

Segment* MapSegment(const std::string& id) {
  int fd = open(PathOf(id).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return nullptr;
  void* mapped = MAP_FAILED;
  if (ftruncate(fd, sizeof(Segment)) == 0) {
    mapped = mmap(nullptr, sizeof(Segment), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  return mapped == MAP_FAILED ? nullptr : static_cast<Segment*>(mapped);
}

void UnmapSegment(Segment* segment) { munmap(segment, sizeof(Segment)); }

void UnlinkSegment(const std::string& id) { unlink(PathOf(id).c_str()); }

}  // namespace nullnccl
