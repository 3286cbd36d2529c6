#include "tests/fakes/core/copies.h"

#include <string.h>

#include "tests/fakes/core/capture.h"
#include "tests/fakes/core/memory.h"
#include "tests/fakes/core/settings.h"

namespace nullgpu {
namespace {

bool Pageable(const void* pointer) { return FindBlock(pointer).kind == MemoryKind::kUnregistered; }

// A call that waits is unsafe while streams are captured, unless it is itself part of a capture.
Error EnqueueAndWait(Stream& stream, const char* kind, Work work, bool wait) {
  if (wait) {
    if (Error error = CheckStreamWait(stream)) return error;
  }
  if (Error error = EnqueueWork(stream, kind, std::move(work)); error || !wait) return error;
  if (auto fence = stream.Mark()) fence->Wait();
  return kSuccess;
}

}  // namespace

Error EnqueueCopy(const char* call, Stream& stream, const Copy& copy, bool wait) {
  Trace("%s to=%p from=%p bytes=%zu stream=%llu", call, copy.to, copy.from, copy.bytes * copy.rows,
        static_cast<unsigned long long>(stream.id));
  if (!copy.bytes) return kSuccess;
  if (!copy.to || !copy.from) return kInvalidValue;
  bool capturing = StatusOfCapture(stream, nullptr, nullptr) != CaptureStatus::kNone;
  bool blocks = wait || (!capturing && (Pageable(copy.to) || Pageable(copy.from)));
  Work work = [copy] {
    for (size_t row = 0; row < copy.rows; ++row) {
      memmove(static_cast<char*>(copy.to) + row * copy.to_pitch,
              static_cast<const char*>(copy.from) + row * copy.from_pitch, copy.bytes);
    }
  };
  return EnqueueAndWait(stream, "memcpy", std::move(work), blocks);
}

Error EnqueueFill(const char* call, Stream& stream, void* to, unsigned value, size_t count, int element_bytes,
                  bool wait) {
  Trace("%s to=%p bytes=%zu stream=%llu", call, to, count * element_bytes, static_cast<unsigned long long>(stream.id));
  if (!count) return kSuccess;
  if (!to) return kInvalidValue;
  Work work = [=] {
    for (size_t i = 0; i < count; ++i) memcpy(static_cast<char*>(to) + i * element_bytes, &value, element_bytes);
  };
  if (element_bytes == 1) work = [=] { memset(to, static_cast<int>(value), count); };
  return EnqueueAndWait(stream, "memset", std::move(work), wait);
}

}  // namespace nullgpu
