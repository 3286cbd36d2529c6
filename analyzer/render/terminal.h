// How text for people looks where it goes: on a terminal in colours and wrapped to its width, in a pipe or file as it
// is. Every text renderer may use it: `out.terminal()` is that of an Output.
//
//   out.Write(out.terminal().Paint(Tone::kBad, "FAULT") + ": …\n");
//   out.Write(out.terminal().Paragraph(sentence, 2));     // ends with a line break
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace ddbg::analyzer {

enum class ColorMode { kAuto, kAlways, kNever };

// What a piece of text is, not which colour it has.
enum class Tone {
  kPlain,
  kTitle,    // a heading, the header of a table
  kGood,     // healthy
  kBad,      // a fault, a call that never returned
  kDoubt,    // unknown, losses, caveats
  kCommand,  // to be typed
  kQuiet,    // of less weight
};

class Terminal {
 public:
  // Plain and unwrapped.
  Terminal() = default;
  Terminal(bool colored, size_t columns) : colored_(colored), columns_(columns) {}

  // Coloured by the mode that SetColorMode was given; kAuto: if `file` is a terminal, TERM is not "dumb" and NO_COLOR
  // is not set. Wrapped if `file` is a terminal, to its width.
  static Terminal Of(FILE* file);
  static void SetColorMode(ColorMode mode);

  bool colored() const { return colored_; }
  size_t columns() const { return columns_; }  // 0: no wrapping

  // What ddbg itself never writes, control characters that a program put into a name, becomes "?".
  std::string Paint(Tone tone, std::string_view text) const;

  // One paragraph with `indent` spaces before each line, four more from the second on; broken between words only. A
  // word that is longer than a line stays whole.
  std::string Paragraph(std::string_view text, size_t indent = 0, Tone tone = Tone::kPlain) const;
  // "LABEL: text" as one paragraph; the label, one word, in its tone.
  std::string Labelled(Tone tone, std::string_view label, std::string_view text) const;

 private:
  bool colored_ = false;
  size_t columns_ = 0;
};

// Columns that UTF-8 text takes, one a character.
size_t WidthOf(std::string_view text);

}  // namespace ddbg::analyzer
