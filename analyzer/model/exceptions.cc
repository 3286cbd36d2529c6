#include "analyzer/model/exceptions.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "analyzer/model/told.h"

namespace ddbg::analyzer {
namespace {

// What gloo's transports, PyTorch's stores and process groups, NCCL and sockets say when a peer is gone or a time limit
// for one has passed. Not any time-out: a program's own, of a data base for one, is its own exception.
constexpr std::string_view kOfPeers[] = {"Connection closed by peer",
                                         "Connection reset by peer",
                                         "Broken pipe",
                                         "Timed out waiting",
                                         "timed out waiting",
                                         "Timed out after",
                                         "Socket Timeout",
                                         "Socket closed",
                                         "wait timeout after",
                                         "/gloo/",
                                         "NCCL error",
                                         "ncclRemoteError",
                                         "NCCL communicator",
                                         "DistBackendError",
                                         "DistNetworkError",
                                         "DistStoreError",
                                         "Watchdog caught",
                                         "failed to recv",
                                         "recvValue failed",
                                         "sendBytes failed",
                                         "Software caused connection abort",
                                         "ConnectionResetError",
                                         "BrokenPipeError",
                                         "ConnectionAbortedError"};

bool IsOfPeers(std::string_view what) {
  return std::any_of(std::begin(kOfPeers), std::end(kOfPeers),
                     [&](std::string_view word) { return what.find(word) != std::string_view::npos; });
}

// "…/train.py:19 in load" into a frame; nothing if it is not of this form.
bool ReadPlace(std::string_view text, Frame* frame) {
  size_t in = text.rfind(" in ");
  std::string_view line = text.substr(0, in);
  size_t colon = line.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const char* end = line.data() + line.size();
  auto [read, error] = std::from_chars(line.data() + colon + 1, end, frame->line);
  if (error != std::errc() || read != end) return false;
  frame->file = line.substr(0, colon);
  if (in != std::string_view::npos) frame->function = text.substr(in + 4);
  frame->python = true;
  return true;
}

// "ValueError: sample 3 has no label (/scratch/train.py:19 in load)".
Exception Read(size_t call, std::string_view text, bool in_main) {
  Exception exception;
  exception.call = call;
  exception.in_main = in_main;
  size_t open = text.rfind(" (");
  if (open != std::string_view::npos && text.ends_with(')') &&
      ReadPlace(text.substr(open + 2, text.size() - open - 3), &exception.place))
    text = text.substr(0, open);
  exception.what = text;
  exception.type = text.substr(0, text.find(':'));
  exception.of_peers = IsOfPeers(text);
  return exception;
}

}  // namespace

std::vector<Exception> ExceptionsOf(const Process& process) {
  std::vector<Exception> exceptions;
  for (const ToldEvent& event : EventsTold(process, "exception"))
    exceptions.push_back(Read(event.call, event.text, event.number != 0));
  return exceptions;
}

}  // namespace ddbg::analyzer
