// Two threads of one process in collectives on one communicator at once: nothing orders them, so that another rank may
// take them the other way round. MPI 4.1, 6.14 leaves the order to the program.
#include "analyzer/find/concurrent.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "analyzer/context/context.h"
#include "analyzer/model/describe.h"
#include "analyzer/model/refused.h"

namespace ddbg::analyzer {
namespace {

bool IsOrdered(const Call& call) {
  return call.known() && call.info().api == Api::Mpi && IsCollective(call.info().kind) && call.comm != 0 &&
         call.info().shape != CallShape::CreateGroup && !IsRefused(call);
}

struct Overlap {
  size_t process = kNoIndex;
  size_t earlier = kNoIndex, later = kNoIndex;  // calls
  size_t count = 0, calls = 0;                  // calls that met another, of all on that communicator
};

// By communicator id: the first pair that overlaps, and how many do.
std::unordered_map<uint32_t, Overlap> OverlapsOf(const Process& process, size_t index) {
  struct Latest {
    size_t call = kNoIndex;
    int64_t end_ns = INT64_MIN;
  };
  std::unordered_map<uint32_t, Latest> latest_of;  // the one that ends last so far
  std::unordered_map<uint32_t, Overlap> overlaps;
  for (size_t i = 0; i < process.calls.size(); ++i) {
    const Call& call = process.calls[i];
    if (!IsOrdered(call)) continue;
    Latest& latest = latest_of[call.comm];
    Overlap& overlap = overlaps[call.comm];
    ++overlap.calls;
    if (latest.call != kNoIndex && process.calls[latest.call].thread != call.thread && call.start_ns < latest.end_ns) {
      if (overlap.count++ == 0) overlap.process = index, overlap.earlier = latest.call, overlap.later = i;
    }
    int64_t end_ns = call.open() ? INT64_MAX : call.start_ns + call.duration_ns;
    if (end_ns > latest.end_ns) latest = {i, end_ns};
  }
  std::erase_if(overlaps, [](const auto& entry) { return entry.second.count == 0; });
  return overlaps;
}

uint32_t Tid(const Process& process, const Call& call) {
  auto tid = process.tid_by_thread.find(call.thread);
  return tid == process.tid_by_thread.end() ? call.thread : tid->second;
}

std::string Placed(Context& context, size_t process, size_t call) {
  std::string line = context.Line(process, call);
  return context.Describe(process, call) + (line.empty() ? "" : " at " + line);
}

Finding Report(Context& context, const std::vector<Overlap>& overlaps) {
  const Overlap& first = *std::min_element(overlaps.begin(), overlaps.end(), [&](const Overlap& a, const Overlap& b) {
    return context.StartNs(a.process, a.earlier) < context.StartNs(b.process, b.earlier);
  });
  const Process& process = context.process(first.process);
  const Call &earlier = process.calls[first.earlier], &later = process.calls[first.later];
  Finding finding;
  finding.kind = "concurrent_collectives";
  finding.proof = Proof::kMismatch;
  finding.first = context.Event(first.process, first.earlier);
  finding.first.field = "thread";
  finding.first.expected = "one collective at a time";
  finding.first.actual = fmt::format("threads {} and {}", Tid(process, earlier), Tid(process, later));
  for (const Overlap& overlap : overlaps) {
    finding.culprit_ranks.push_back(context.rank(overlap.process));
    finding.evidence.push_back(fmt::format("rank {}: {} of {} collectives on {} began while another thread was in one",
                                           context.rank(overlap.process), overlap.count, overlap.calls,
                                           finding.first.comm));
  }
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  int64_t end_ns = context.EndNs(first.process, first.earlier);
  if (end_ns != INT64_MAX)
    finding.evidence.push_back(
        fmt::format("the first two are in it together for {:.1f} us",
                    static_cast<double>(std::min(end_ns, context.EndNs(first.process, first.later)) -
                                        context.StartNs(first.process, first.later)) /
                        1e3));
  finding.summary = fmt::format(
      "Two threads of rank {} are in collectives on {} at the same time: thread {} in {}, #{}, and thread {} in {}, "
      "#{}. Nothing orders them between ranks, so that results may be wrong without any error.",
      context.rank(first.process), finding.first.comm, Tid(process, earlier),
      Placed(context, first.process, first.earlier), earlier.seq, Tid(process, later),
      Placed(context, first.process, first.later), later.seq);
  finding.confidence = 0.95;
  return finding;
}

}  // namespace

std::vector<Finding> FindConcurrentCollectives(Context& context) {
  std::map<uint64_t, std::vector<Overlap>> by_uid;
  for (size_t i = 0; i < context.run.processes.size(); ++i)
    for (const auto& [comm, overlap] : OverlapsOf(context.process(i), i))
      by_uid[UidOf(context.process(i), context.call(i, overlap.earlier))].push_back(overlap);
  std::vector<Finding> findings;
  for (const auto& [uid, overlaps] : by_uid) findings.push_back(Report(context, overlaps));
  return findings;
}

void DropWhatOverlapsExplain(std::vector<Finding>* findings) {
  std::map<uint64_t, int64_t> from;  // by uid: nothing is in order from this sequence number on
  for (const Finding& finding : *findings)
    if (finding.kind == "concurrent_collectives") from[finding.first.comm_uid] = finding.first.seq;
  std::erase_if(*findings, [&](const Finding& finding) {
    auto overlap = from.find(finding.first.comm_uid);
    bool compares = finding.proof == Proof::kMismatch || finding.proof == Proof::kMissing ||
                    finding.proof == Proof::kCycle || finding.proof == Proof::kNoProgress;
    return compares && overlap != from.end() && finding.first.seq >= overlap->second &&
           finding.kind != "concurrent_collectives";
  });
}

}  // namespace ddbg::analyzer
