// When the receivers of messages waited for them. Of a non-blocking receive that is the wait which completed it, so
// that a message which was there before anybody waited costs nothing.
#pragma once

#include <functional>

#include "analyzer/match/messages.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

// Own clocks of the two processes.
struct MessageTime {
  const End* send = nullptr;
  const End* receive = nullptr;
  int64_t sent_ns = 0;       // the send was called
  int64_t wait_from_ns = 0;  // the receiver began to wait
  int64_t received_ns = 0;   // and ended
};

// Calls visit(channel, time) for each message of which both ends are known and the receive is over, channel by channel
// in the order they were posted. Not for NCCL's, which the device waits for. Linear in the calls, but for a look-up of
// each non-blocking receive.
void ForEachMessage(const Run& run, const Messages& messages,
                    const std::function<void(const Channel&, const MessageTime&)>& visit);

}  // namespace ddbg::analyzer
