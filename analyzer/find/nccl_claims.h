// Who came to make which communicator of NCCL or gloo: one meeting for each unique id or name and use of it, one claim
// for each init.
#pragma once

#include <string>
#include <vector>

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

struct Claim {
  size_t process = kNoIndex, call = kNoIndex;
  const Communicator* comm = nullptr;
  enum State { kDone, kOpen, kFailed } state = kDone;
  double seconds = 0;    // kOpen: for how long
  std::string error;     // kFailed: "ncclInvalidUsage (5)"
  bool retried = false;  // kFailed: a later one of as many ranks was made
  std::string bus_id;    // of its device; "" if unknown
};

struct Meeting {
  uint64_t uid = 0;
  std::vector<Claim> claims;  // by process, then time; never empty
};

// Of more than one rank, in the order of their first init.
std::vector<Meeting> FindMeetings(const Context& context);

// How long the one that waits longest has waited, in seconds; 0 if nobody does.
double Waited(const Meeting& meeting);

// A finding of the start-up that shows at `claim`; then, with its culprits set, the evidence of all claims.
Finding BeginFinding(Context& context, const char* kind, const Claim& claim, const char* field, std::string expected,
                     std::string actual);
void FinishFinding(Context& context, const Meeting& meeting, Finding* finding);

// Inits that wait (nccl_arrivals.cc): at most one finding.
std::vector<Finding> FindNcclArrivals(Context& context, const std::vector<Meeting>& meetings);

// Names one device of one host; "" if it is not known.
std::string DeviceOf(const Context& context, const Claim& claim);
bool SetsDevice(const Context& context, size_t process);

}  // namespace ddbg::analyzer
