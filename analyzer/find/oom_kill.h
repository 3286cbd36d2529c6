// Was a process that SIGKILL ended killed by the kernel for want of memory? Counters say so, not guesses.
#pragma once

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

// Turns a finding that `process` was ended by SIGKILL into one of kind oom_kill, with the counters and the growth of
// its memory as evidence, if they tell that. False if not.
bool ExplainByOomKill(Context& context, size_t process, Finding* finding);

}  // namespace ddbg::analyzer
