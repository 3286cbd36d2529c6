// PythonLine on tables written by hand, and at every cut-off length. That it agrees with CPython itself is
// tests/e2e/test_python_lines.py's.
#include "shim/recorder/python/line_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace ddbg::shim {
namespace {

using Table = std::vector<unsigned char>;

int Line(int minor, const Table& table, int at) { return PythonLine(minor, table.data(), table.size(), 10, at); }

TEST(PythonLine, ReadsPairs) {
  Table table = {4, 1, 6, 3, 2, 0xff};  // from byte 4 on line 11, from 10 on 14, from 12 on 13
  EXPECT_EQ(Line(8, table, 0), 10);
  EXPECT_EQ(Line(8, table, 4), 11);
  EXPECT_EQ(Line(9, table, 10), 14);
  EXPECT_EQ(Line(9, table, 100), 13);
}

TEST(PythonLine, ReadsRanges) {
  Table table = {4, 1, 6, 0x80, 2, 2};  // bytes 0 to 3 on line 11, 4 to 9 on none, 10 to 11 on 13
  EXPECT_EQ(Line(10, table, 2), 11);
  EXPECT_EQ(Line(10, table, 10), 13);
}

TEST(PythonLine, ReadsLocations) {
  // Two instructions one line on, with columns; one without columns and 40 lines on; one that has no line.
  Table table = {0x80 | 11 << 3 | 1, 0x01, 0x02, 0x80 | 13 << 3, 0x40 | (80 & 63), 80 >> 6, 0x80 | 15 << 3};
  EXPECT_EQ(Line(11, table, 0), 11);
  EXPECT_EQ(Line(12, table, 2), 11);
  EXPECT_EQ(Line(13, table, 4), 51);
}

TEST(PythonLine, TakesAnyBytes) {
  Table table;
  for (int i = 0; i < 300; ++i) table.push_back(static_cast<unsigned char>(i * 37));
  for (int minor = 8; minor <= 14; ++minor) {
    for (size_t size = 0; size <= table.size(); ++size) PythonLine(minor, table.data(), size, 10, 1 << 20);
  }
  EXPECT_EQ(PythonLine(11, table.data(), 0, 10, 5), 10);
  EXPECT_EQ(PythonLine(11, table.data(), table.size(), 10, -2), 10);
}

}  // namespace
}  // namespace ddbg::shim
