// What ddbg has to tell the user of a job: one line on stderr, "ddbg: …", each text once per process.
#pragma once

namespace ddbg::shim {

// Said once, whoever finds out first: the sender, or at exit a program too short for it. %s: the socket.
inline constexpr char kNoCollectorAnswers[] =
    "no collector answers at %s (see DDBG_SOCKET): the job runs on; what fits into shared memory is kept until one "
    "does";

// Any thread. Does not allocate. A format that was said before in this process is not said again.
[[gnu::format(printf, 1, 2)]] void Say(const char* format, ...);

}  // namespace ddbg::shim
