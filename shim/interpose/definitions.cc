#include "shim/interpose/definitions.h"

#include <protozero/pbf_writer.hpp>
#include <string>

namespace ddbg::shim {

void WriteLibrary(ThreadState& t, const char* api, const char* version, const char* path) noexcept {
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer library(definition, 4);
    library.add_string(1, api);
    library.add_string(3, version);
    library.add_string(4, path);
  }
  PushDefinition(t, bytes);
}

void WriteLevel(ThreadState& t, const char* name, bool on, const char* why) noexcept {
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer level(definition, 11);
    level.add_string(1, name);
    level.add_bool(2, on);
    level.add_string(3, why);
  }
  PushDefinition(t, bytes);
}

}  // namespace ddbg::shim
