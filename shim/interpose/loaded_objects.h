// The objects the loader has loaded, also those no scope of ours can see.
#pragma once

namespace ddbg::shim {

// The first definition of `name` in any of them but libddbg.so; nullptr: none. Takes the loader's lock.
void* FindInLoadedObjects(const char* name) noexcept;

}  // namespace ddbg::shim
