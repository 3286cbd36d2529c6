// The environment variables of libddbg.so, from the table that its parser is made of.
#pragma once

#include <string>

namespace ddbg::analyzer {

// A paragraph for `ddbg run --help`: a line each with name, meaning and default.
std::string SwitchesHelp();

}  // namespace ddbg::analyzer
