#include "shim/recorder/python/line_table.h"

namespace ddbg::shim {
namespace {

struct Bytes {
  const unsigned char* at;
  const unsigned char* end;
  bool left() const { return at < end; }
};

// Pairs of (bytes forward, signed lines forward).
int LineInPairs(Bytes table, int first_line, int at) {
  int line = first_line, address = 0;
  while (table.end - table.at >= 2) {
    address += table.at[0];
    if (address > at) break;
    line += static_cast<signed char>(table.at[1]);
    table.at += 2;
  }
  return line;
}

// Pairs of (length, signed lines forward), the second before the first is used; -128: no line.
int LineInRanges(Bytes table, int first_line, int at) {
  int line = first_line, end = 0, last = first_line;
  while (table.end - table.at >= 2) {
    end += table.at[0];
    int delta = static_cast<signed char>(table.at[1]);
    table.at += 2;
    if (delta != -128) last = line += delta;
    if (at < end) return last;
  }
  return last;
}

// Six bits a byte, least first, bit 6: more follow; lowest bit of the whole: the sign.
int SignedVarint(Bytes* bytes) {
  unsigned value = 0;
  for (int shift = 0; bytes->left() && shift < 30; shift += 6) {
    unsigned char byte = *bytes->at++;
    value |= static_cast<unsigned>(byte & 63) << shift;
    if (!(byte & 64)) break;
  }
  int magnitude = static_cast<int>(value >> 1);
  return value & 1 ? -magnitude : magnitude;
}

// Entries that begin with a byte whose bit 7 is set: kind in bits 3 to 6, length − 1 in instructions below.
int LineInLocations(Bytes table, int first_line, int at) {
  int64_t line = first_line, end = 0, last = first_line;
  while (table.left()) {
    unsigned char head = *table.at++;
    int kind = (head >> 3) & 15;
    if (kind == 13 || kind == 14) line += SignedVarint(&table);
    if (kind >= 10 && kind <= 12) line += kind - 10;
    if (kind != 15) last = line;
    while (table.left() && !(*table.at & 128)) ++table.at;
    end += 2 * ((head & 7) + 1);
    if (at < end) return static_cast<int>(last);
  }
  return static_cast<int>(last);
}

}  // namespace

int PythonLine(int minor, const unsigned char* table, size_t size, int first_line, int at) noexcept {
  if (at < 0) return first_line;
  Bytes bytes{table, table + size};
  if (minor < 10) return LineInPairs(bytes, first_line, at);
  return minor == 10 ? LineInRanges(bytes, first_line, at) : LineInLocations(bytes, first_line, at);
}

}  // namespace ddbg::shim
