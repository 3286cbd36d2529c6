#include "analyzer/model/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace ddbg::analyzer {

namespace {

struct FreeDeleter {
  void operator()(char* text) const { free(text); }
};

}  // namespace

std::string Demangle(const char* name) {
  if (strncmp(name, "_Z", 2) != 0) return name;
  int status = 0;
  std::unique_ptr<char, FreeDeleter> text(abi::__cxa_demangle(name, nullptr, nullptr, &status));
  return status == 0 ? std::string(text.get()) : std::string(name);
}

}  // namespace ddbg::analyzer
