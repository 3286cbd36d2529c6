#include "analyzer/render/terminal.h"

#include <gtest/gtest.h>

#include "analyzer/render/progress.h"

namespace ddbg::analyzer {
namespace {

TEST(Terminal, APipeHasNeitherColoursNorWidth) {
  Terminal plain;
  std::string text(300, 'x');
  text[100] = ' ';
  EXPECT_EQ(plain.Paint(Tone::kBad, "FAULT"), "FAULT");
  EXPECT_EQ(plain.Paragraph(text, 2), "  " + text + "\n");
}

TEST(Terminal, AParagraphIsBrokenBetweenWords) {
  Terminal narrow(false, 20);
  EXPECT_EQ(narrow.Paragraph("one two three four five six", 2), "  one two three four\n      five six\n");
}

TEST(Terminal, NoLineIsWiderThanTheTerminalUnlessAWordIs) {
  for (size_t columns = 16; columns < 60; ++columns) {
    std::string text = Terminal(false, columns).Paragraph("a sentence of several words, each one short, for a line", 2);
    for (size_t at = 0; at < text.size();) {
      size_t end = text.find('\n', at);
      EXPECT_LE(end - at, columns) << text;
      at = end + 1;
    }
  }
  EXPECT_EQ(Terminal(false, 10).Paragraph("/a/long/path/of/a/file x"), "/a/long/path/of/a/file\n    x\n");
}

TEST(Terminal, WidthCountsCharactersNotBytes) {
  EXPECT_EQ(WidthOf("1142 × MPI_INT →"), 16u);
  EXPECT_EQ(Terminal(false, 12).Paragraph("××××× ××××××"), "××××× ××××××\n");
}

TEST(Terminal, ColoursAreOfTheLineAndEndWithIt) {
  Terminal colored(true, 20);
  EXPECT_EQ(colored.Paint(Tone::kBad, "FAULT"), "\x1b[1;31mFAULT\x1b[0m");
  EXPECT_EQ(colored.Labelled(Tone::kGood, "HEALTHY", "all is well here now"),
            "\x1b[1;32mHEALTHY\x1b[0m: all is well\n    here now\n");
}

TEST(Terminal, ControlCharactersOfAProgramDoNotReachIt) {
  EXPECT_EQ(Terminal(true, 80).Paragraph("evil\x1b[2J name"), "evil?[2J name\n");
}

TEST(Terminal, AlwaysColoursAPipeToo) {
  FILE* file = tmpfile();
  EXPECT_FALSE(Terminal::Of(file).colored());
  Terminal::SetColorMode(ColorMode::kAlways);
  EXPECT_TRUE(Terminal::Of(file).colored());
  EXPECT_EQ(Terminal::Of(file).columns(), 0u);
  Terminal::SetColorMode(ColorMode::kAuto);
  fclose(file);
}

TEST(ProgressLine, SaysHowFarAndHowLong) {
  EXPECT_EQ(ProgressText(1 << 20, 4 << 20, "reading", 2.0), "reading: 1.0 MiB of 4.0 MiB, 25 %, 6 s left");
  EXPECT_EQ(ProgressText(512, 0, "reading", 2.0), "reading: 512 B");
}

TEST(ProgressLine, AFileGetsNothing) {
  FILE* file = tmpfile();
  {
    ProgressLine line(file);
    EXPECT_FALSE(line.callback());
    line.Show(1, 2, "reading");
  }
  EXPECT_EQ(ftell(file), 0);
  fclose(file);
}

}  // namespace
}  // namespace ddbg::analyzer
