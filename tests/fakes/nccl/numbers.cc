#include "tests/fakes/nccl/numbers.h"

#include <math.h>

namespace nullnccl {
namespace {

constexpr int Bias(int exponent_bits) { return (1 << (exponent_bits - 1)) - 1; }

}  // namespace

template <class Storage, int kExponentBits, int kMantissaBits, bool kFinite>
SmallFloat<Storage, kExponentBits, kMantissaBits, kFinite>::SmallFloat(float value) {
  constexpr int kTop = (1 << kExponentBits) - 1;
  constexpr int kBias = Bias(kExponentBits);
  constexpr unsigned kMantissaMask = (1u << kMantissaBits) - 1;
  constexpr unsigned kInfinity = static_cast<unsigned>(kTop) << kMantissaBits;
  constexpr unsigned kLargest = kFinite ? kInfinity + kMantissaMask - 1 : kInfinity - 1;
  unsigned sign = signbit(value) ? 1u << (kExponentBits + kMantissaBits) : 0;
  double magnitude = fabs(static_cast<double>(value));
  if (isnan(value)) {
    bits = static_cast<Storage>(sign | kInfinity | kMantissaMask);
    return;
  }
  unsigned encoded;
  if (magnitude == 0) {
    encoded = 0;
  } else if (isinf(value)) {
    encoded = kInfinity;
  } else {
    int exponent = ilogb(magnitude);
    if (exponent < 1 - kBias) exponent = 1 - kBias;  // subnormal
    // In units of the last place; a carry out of the mantissa raises the exponent by itself.
    unsigned units = static_cast<unsigned>(nearbyint(ldexp(magnitude, kMantissaBits - exponent)));
    encoded = (static_cast<unsigned>(exponent + kBias - 1) << kMantissaBits) + units;
  }
  if (encoded > kLargest) encoded = kFinite ? kLargest : kInfinity;
  bits = static_cast<Storage>(sign | encoded);
}

template <class Storage, int kExponentBits, int kMantissaBits, bool kFinite>
SmallFloat<Storage, kExponentBits, kMantissaBits, kFinite>::operator float() const {
  constexpr int kTop = (1 << kExponentBits) - 1;
  int exponent = (bits >> kMantissaBits) & kTop;
  unsigned mantissa = bits & ((1u << kMantissaBits) - 1);
  bool negative = bits >> (kExponentBits + kMantissaBits) & 1;
  float magnitude;
  if (exponent == kTop && (kFinite ? mantissa == (1u << kMantissaBits) - 1 : mantissa != 0)) {
    magnitude = NAN;
  } else if (exponent == kTop && !kFinite) {
    magnitude = INFINITY;
  } else if (exponent == 0) {
    magnitude = ldexpf(static_cast<float>(mantissa), 1 - Bias(kExponentBits) - kMantissaBits);
  } else {
    magnitude =
        ldexpf(static_cast<float>(mantissa + (1u << kMantissaBits)), exponent - Bias(kExponentBits) - kMantissaBits);
  }
  return negative ? -magnitude : magnitude;
}

template struct SmallFloat<uint16_t, 5, 10>;
template struct SmallFloat<uint16_t, 8, 7>;
template struct SmallFloat<uint8_t, 4, 3, true>;
template struct SmallFloat<uint8_t, 5, 2>;

}  // namespace nullnccl
