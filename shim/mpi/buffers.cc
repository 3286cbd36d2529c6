#include "shim/mpi/buffers.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "shim/marks/mark.h"
#include "shim/recorder/settings.h"

namespace ddbg::shim::mpi {

constinit std::atomic<bool> g_checks_buffers{false};

namespace {

constexpr uint64_t kPieceBytes = 64, kPieces = 64;  // evenly over the buffer
constexpr uint64_t kSlots = 4096;                   // of more that are pending at once the oldest are not looked at

struct Watched {
  std::atomic<uint64_t> operation;  // 0: free. Release after the rest was written
  const char* buffer;
  uint64_t bytes, sum;
};

constinit Watched* g_watched = nullptr;

// Read through the kernel: a buffer may be the device's, and when it is checked it may be gone. False: not readable.
bool SumOf(const char* buffer, uint64_t bytes, uint64_t* sum) {
  char copy[kPieceBytes * kPieces];
  iovec local{copy, std::min<uint64_t>(bytes, sizeof copy)};
  iovec remote[kPieces];
  uint64_t pieces = 1;
  if (bytes <= sizeof copy) {
    remote[0] = {const_cast<char*>(buffer), bytes};
  } else {
    pieces = kPieces;
    for (uint64_t i = 0; i < kPieces; ++i)
      remote[i] = {const_cast<char*>(buffer) + i * (bytes - kPieceBytes) / (kPieces - 1), kPieceBytes};
  }
  ssize_t got = process_vm_readv(getpid(), &local, 1, remote, pieces, 0);
  if (got < 0 || static_cast<uint64_t>(got) != local.iov_len) return false;
  uint64_t h = bytes;
  for (uint64_t i = 0; i < local.iov_len; ++i) h = (h ^ static_cast<unsigned char>(copy[i])) * 0x100000001b3;
  *sum = h;
  return true;
}

// 0: it is not predefined.
uint64_t BytesOf(Word datatype, uint64_t count) {
  int integers = 0, addresses = 0, types = 0, combiner = 0, size = 0;
  if (!g_mpi.Type_get_envelope || !g_mpi.Type_size) return 0;
  if (g_mpi.Type_get_envelope(datatype, Address(&integers), Address(&addresses), Address(&types), Address(&combiner)))
    return 0;
  if (types > 0 || integers > 0 || g_mpi.Type_size(datatype, Address(&size)) || size <= 0) return 0;
  return count * static_cast<uint64_t>(size);
}

}  // namespace

void PrepareBufferChecks() noexcept {
  if (g_watched || !WantsBufferChecks()) return;
  void* memory = mmap(nullptr, sizeof(Watched) * kSlots, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  g_watched = static_cast<Watched*>(memory);
  g_checks_buffers.store(true, std::memory_order_release);
}

void WatchBuffer(uint64_t operation, const void* buffer, uint64_t count, Word datatype) noexcept {
  uint64_t bytes = BytesOf(datatype, count), sum = 0;
  if (operation == 0 || bytes == 0 || !SumOf(static_cast<const char*>(buffer), bytes, &sum)) return;
  Watched& watched = g_watched[operation % kSlots];
  watched.operation.store(0, std::memory_order_relaxed);
  watched.buffer = static_cast<const char*>(buffer);
  watched.bytes = bytes;
  watched.sum = sum;
  watched.operation.store(operation, std::memory_order_release);
}

void CheckBuffer(ThreadState& t, uint64_t operation) noexcept {
  if (operation == 0) return;
  Watched& watched = g_watched[operation % kSlots];
  // The one thread that completes the operation takes it; pairs with the release in WatchBuffer.
  uint64_t expected = operation;
  if (!watched.operation.compare_exchange_strong(expected, 0, std::memory_order_acquire)) return;
  uint64_t sum = 0;
  if (!SumOf(watched.buffer, watched.bytes, &sum) || sum == watched.sum) return;
  Record mark = marks::NewMark(t, MarkCall::ddbg_event);
  mark.aux = marks::Named(t, "buffer_modified");
  mark.count = operation;
  marks::Push(t, mark);
}

void ForgetBuffer(uint64_t operation) noexcept {
  uint64_t expected = operation;
  if (operation != 0)
    g_watched[operation % kSlots].operation.compare_exchange_strong(expected, 0, std::memory_order_relaxed);
}

void CheckAllBuffers(ThreadState& t) noexcept {
  for (uint64_t i = 0; i < kSlots; ++i) CheckBuffer(t, g_watched[i].operation.load(std::memory_order_relaxed));
}

}  // namespace ddbg::shim::mpi
