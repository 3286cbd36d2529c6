#include "tests/fakes/nccl/numbers.h"

#include <gtest/gtest.h>
#include <math.h>

namespace nullnccl {
namespace {

// Every value that is not NaN must come back as the bits it was.
template <class Number>
void ExpectRoundTrip(unsigned patterns) {
  for (unsigned bits = 0; bits < patterns; ++bits) {
    Number number;
    number.bits = static_cast<decltype(number.bits)>(bits);
    float value = number;
    if (isnan(value)) continue;
    ASSERT_EQ(Number(value).bits, number.bits) << bits;
  }
}

TEST(Numbers, ComeBackAsTheyWere) {
  ExpectRoundTrip<Float16>(1 << 16);
  ExpectRoundTrip<Bfloat16>(1 << 16);
  ExpectRoundTrip<Float8e4m3>(1 << 8);
  ExpectRoundTrip<Float8e5m2>(1 << 8);
}

TEST(Numbers, AreEncodedAsTheirFormatsSay) {
  EXPECT_EQ(Float16(1.0f).bits, 0x3c00);
  EXPECT_EQ(Float16(-2.0f).bits, 0xc000);
  EXPECT_EQ(Float16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(Float16(1e6f).bits, 0x7c00);
  EXPECT_EQ(Float16(ldexpf(1, -24)).bits, 0x0001);
  EXPECT_EQ(Bfloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(Bfloat16(3.140625f).bits, 0x4049);
  EXPECT_EQ(Float8e4m3(1.0f).bits, 0x38);
  EXPECT_EQ(Float8e4m3(448.0f).bits, 0x7e);
  EXPECT_EQ(Float8e4m3(1e6f).bits, 0x7e);
  EXPECT_EQ(Float8e5m2(1.0f).bits, 0x3c);
  EXPECT_EQ(Float8e5m2(57344.0f).bits, 0x7b);
}

TEST(Numbers, RoundToNearestAndTiesToEven) {
  EXPECT_EQ(Float16(1.0f + ldexpf(1, -11)).bits, 0x3c00);
  EXPECT_EQ(Float16(1.0f + 3 * ldexpf(1, -11)).bits, 0x3c02);
  EXPECT_EQ(Float8e4m3(17.0f).bits, Float8e4m3(16.0f).bits);
  EXPECT_EQ(Float8e4m3(19.0f).bits, Float8e4m3(20.0f).bits);
}

}  // namespace
}  // namespace nullnccl
