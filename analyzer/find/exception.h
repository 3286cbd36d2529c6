// Was the early end of a rank that of an uncaught exception? What a process prints is not recorded; what is known are
// the stack of its last call, how it ended, and whether its interpreter was on its way out.
#pragma once

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

// Makes uncaught_exception of an end (early_exit, process_killed, init_error) where it is known, or likely with the
// confidence that says so, and adds what speaks for it to the evidence. Where it cannot be told the kind stays.
void ExplainByException(Context& context, Finding* finding);

}  // namespace ddbg::analyzer
