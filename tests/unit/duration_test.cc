#include "analyzer/model/duration.h"

#include <gtest/gtest.h>

namespace ddbg::analyzer {
namespace {

TEST(Duration, TakesBareNumbersForSecondsAndKnowsUnits) {
  EXPECT_EQ(*ParseDuration("90"), 90'000'000'000);
  EXPECT_EQ(*ParseDuration("90s"), 90'000'000'000);
  EXPECT_EQ(*ParseDuration("5m"), 300'000'000'000);
  EXPECT_EQ(*ParseDuration("1.5h"), 5'400'000'000'000);
  EXPECT_EQ(*ParseDuration("250ms"), 250'000'000);
  EXPECT_EQ(*ParseDuration("200us"), 200'000);
  EXPECT_EQ(*ParseDuration("0"), 0);
}

TEST(Duration, RefusesWhatIsNone) {
  for (const char* text : {"", "m", "-5", "-0s", "5 m", "5x", "5mm", "nan", "inf", "1e300h", "99999999999h"})
    EXPECT_FALSE(ParseDuration(text)) << text;
}

TEST(Bytes, KnowsPowersOf1024) {
  EXPECT_EQ(*ParseBytes("4G"), 4ull << 30);
  EXPECT_EQ(*ParseBytes("512MiB"), 512ull << 20);
  EXPECT_EQ(*ParseBytes("64KB"), 64ull << 10);
  EXPECT_EQ(*ParseBytes("1000000"), 1'000'000u);
  for (const char* text : {"", "0", "G", "-1G", "4X", "4Gb", "1e30"}) EXPECT_FALSE(ParseBytes(text)) << text;
}

}  // namespace
}  // namespace ddbg::analyzer
