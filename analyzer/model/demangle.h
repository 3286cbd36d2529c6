// Names of C++ functions, of the host and of kernels, as people write them.
#pragma once

#include <string>

namespace ddbg::analyzer {

// "foo(int)" of "_Z3fooi"; the name itself if it is not mangled.
std::string Demangle(const char* name);

}  // namespace ddbg::analyzer
