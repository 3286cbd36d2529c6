#include "analyzer/find/shift.h"

#include <gtest/gtest.h>

namespace ddbg::analyzer {
namespace {

// A letter is a call at a site: case tells calls apart (upper: barrier), the letter the site.
std::vector<PathCall> Path(const char* text) {
  std::vector<PathCall> path;
  for (; *text; ++text) path.push_back({static_cast<uint16_t>(*text < 'a' ? 1 : 2), static_cast<uint64_t>(*text)});
  return path;
}

TEST(FindShift, FindsAnExtraStep) {
  Shift shift = FindShift(Path("aaaSF"), Path("aaaF"));
  EXPECT_TRUE(shift.found);
  EXPECT_EQ(shift.at, 3u);
  EXPECT_EQ(shift.length, 1u);
  EXPECT_TRUE(shift.in_longer);
}

TEST(FindShift, FindsALeftOutStep) {
  Shift shift = FindShift(Path("aaFaa"), Path("aaSFaa"));
  EXPECT_TRUE(shift.found);
  EXPECT_EQ(shift.at, 2u);
  EXPECT_FALSE(shift.in_longer);
}

TEST(FindShift, FindsAWholeRoundMore) {
  Shift shift = FindShift(Path("abcabcabcZ"), Path("abcabcZ"));
  EXPECT_TRUE(shift.found);
  EXPECT_EQ(shift.at, 6u);
  EXPECT_EQ(shift.length, 3u);
}

TEST(FindShift, SeesNothingInEqualPathsOrWhereOneJustStopped) {
  EXPECT_FALSE(FindShift(Path("abcF"), Path("abcF")).found);
  EXPECT_FALSE(FindShift(Path("abcF"), Path("abc")).found);
  EXPECT_FALSE(FindShift(Path(""), Path("abc")).found);
}

TEST(FindShift, TakesSitesThatStayPairedAsDesign) {
  EXPECT_FALSE(FindShift(Path("xFxFxF"), Path("yFyFyF")).found);
  Shift shift = FindShift(Path("xxxSF"), Path("yyyF"));
  EXPECT_TRUE(shift.found);
  EXPECT_EQ(shift.at, 3u);
}

TEST(FindShift, DoesNotExplainWhatOneShiftCannot) { EXPECT_FALSE(FindShift(Path("abXcd"), Path("abydc")).found); }

TEST(FindShift, AnUnknownSiteEqualsAnything) {
  std::vector<PathCall> unknown = Path("aaF");
  unknown[1].site = 0;
  EXPECT_FALSE(FindShift(unknown, Path("aaF")).found);
}

}  // namespace
// From one line, a loop over sizes.
std::vector<PathCall> Sizes(const std::vector<uint64_t>& sizes) {
  std::vector<PathCall> path;
  for (uint64_t size : sizes) path.push_back({1, 7, size});
  return path;
}

TEST(FindShift, TellsByArgumentsWhichTurnOfALoopWasLeftOut) {
  Shift shift = FindShift(Sizes({10, 11, 12, 10, 12, 1}), Sizes({10, 11, 12, 10, 11, 12, 1}));
  EXPECT_TRUE(shift.found);
  EXPECT_EQ(shift.at, 4u);
  EXPECT_EQ(shift.length, 1u);
  EXPECT_FALSE(shift.in_longer);
}

TEST(FindShift, TakesAWrongArgumentForNoShiftHoweverOftenTheLoopRepeats) {
  EXPECT_FALSE(
      FindShift(Sizes({10, 11, 12, 10, 99, 12, 10, 11, 12}), Sizes({10, 11, 12, 10, 11, 12, 10, 11, 12})).found);
}

}  // namespace ddbg::analyzer
