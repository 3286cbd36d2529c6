// Where rendered text goes: a FILE, written in large pieces. A reader that went away (| head) ends the output quietly.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "analyzer/render/terminal.h"

namespace ddbg::analyzer {

class Output {
 public:
  explicit Output(FILE* file);
  ~Output() { Flush(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // False once the other end is gone: there is no point in going on.
  bool Write(std::string_view text);
  bool Flush();

  // How text looks at the other end.
  const Terminal& terminal() const { return terminal_; }

 private:
  FILE* file_;
  Terminal terminal_;
  std::string buffer_;
  bool gone_ = false;
};

}  // namespace ddbg::analyzer
