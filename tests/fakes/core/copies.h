// Copies and fills, in the order of a stream; data really moves.
#pragma once

#include <stddef.h>

#include "tests/fakes/core/stream.h"

namespace nullgpu {

// `rows` rows of `bytes`; the pitches say how far apart rows begin.
struct Copy {
  void* to;
  const void* from;
  size_t bytes;
  size_t rows = 1;
  size_t to_pitch = 0;
  size_t from_pitch = 0;
};

// Waits for the copy if `wait`, or if one side is pageable memory, as CUDA does.
Error EnqueueCopy(const char* call, Stream& stream, const Copy& copy, bool wait);

// Sets `count` elements of `element_bytes` (1, 2 or 4) each.
Error EnqueueFill(const char* call, Stream& stream, void* to, unsigned value, size_t count, int element_bytes,
                  bool wait);

}  // namespace nullgpu
