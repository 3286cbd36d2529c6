// The code that is loaded in this process, with build-ids: what a return address is symbolised with later.
#pragma once

#include <cstdint>
#include <string>

namespace ddbg::shim {

// Changes whenever something was loaded or unloaded. Takes the loader's lock for a moment; sender thread only.
uint64_t ModulesVersion();

// The serialised `Modules` packet inside a Chunk.
std::string EncodeModules();

}  // namespace ddbg::shim
