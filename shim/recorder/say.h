// What ddbg has to tell the user of a job: one line on stderr, "ddbg: …", each text once per process.
#pragma once

namespace ddbg::shim {

// Any thread. Does not allocate. A format that was said before in this process is not said again.
[[gnu::format(printf, 1, 2)]] void Say(const char* format, ...);

}  // namespace ddbg::shim
