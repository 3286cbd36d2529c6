// Small floating-point types as NCCL's data types have them. Conversions round to nearest, ties to even.
#pragma once

#include <stdint.h>

namespace nullnccl {

// Any format of 16 bits or fewer with `kExponentBits` and `kMantissaBits`. `kFinite`: no infinity, one NaN (float8
// e4m3).
template <class Storage, int kExponentBits, int kMantissaBits, bool kFinite = false>
struct SmallFloat {
  Storage bits;

  SmallFloat() = default;
  SmallFloat(float value);  // NOLINT: as a float does
  operator float() const;   // NOLINT
};

using Float16 = SmallFloat<uint16_t, 5, 10>;
using Bfloat16 = SmallFloat<uint16_t, 8, 7>;
using Float8e4m3 = SmallFloat<uint8_t, 4, 3, true>;
using Float8e5m2 = SmallFloat<uint8_t, 5, 2>;

extern template struct SmallFloat<uint16_t, 5, 10>;
extern template struct SmallFloat<uint16_t, 8, 7>;
extern template struct SmallFloat<uint8_t, 4, 3, true>;
extern template struct SmallFloat<uint8_t, 5, 2>;

}  // namespace nullnccl
