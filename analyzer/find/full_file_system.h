// SIGBUS where a file system in memory is full: a page of a mapped file that there is no room for.
#pragma once

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

// Adds to a finding that `process` was ended by SIGBUS which file systems of its node were full then. False: none.
bool ExplainByFullFileSystem(Context& context, size_t process, Finding* finding);

}  // namespace ddbg::analyzer
