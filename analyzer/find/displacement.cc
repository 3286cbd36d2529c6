// Displacements of MPI_Gatherv and its kin that have passed 2^31 and turned negative: seen when the call was made
// (shim/mpi/displacements.h), so before what it does to memory.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/context/context.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

bool HasOverflowed(const Call& call) {
  if (!call.known() || call.info().api != Api::Mpi || call.tag >= 0) return false;
  if (call.info().kind != CallKind::Collective && call.info().kind != CallKind::CollectiveInit) return false;
  CallShape shape = call.info().shape;
  return (shape == CallShape::Vary || shape == CallShape::VaryRooted) &&
         call.info().name.find("v") != std::string_view::npos;
}

Finding Report(Context& context, size_t process, size_t index) {
  const Call& call = context.call(process, index);
  Finding finding;
  finding.kind = "displacement_overflow";
  finding.proof = Proof::kMismatch;
  finding.first = context.Event(process, index);
  finding.first.field = "displacement";
  finding.first.actual = std::to_string(call.tag);
  finding.first.expected = std::to_string(static_cast<uint32_t>(call.tag));
  finding.culprit_ranks = {context.rank(process)};
  std::string line = context.Line(process, index);
  std::string which =
      call.aux != 0 && !call.info().has_request && call.info().name.find("catterv") == std::string_view::npos
          ? fmt::format("displacement {}", call.aux)
          : "a displacement";
  finding.summary =
      fmt::format("Rank {} called {}{} with {} of {}: the sum of the sizes before it, {}, does not fit into an int.",
                  context.rank(process), context.Describe(process, index), line.empty() ? "" : " at " + line, which,
                  call.tag, static_cast<uint32_t>(call.tag));
  finding.evidence = {fmt::format("rank {} is {}", context.rank(process), context.WhereIs(process))};
  finding.confidence = 0.95;
  return finding;
}

}  // namespace

std::vector<Finding> FindDisplacements(Context& context) {
  std::vector<Finding> findings;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    const std::vector<Call>& calls = context.process(i).calls;
    auto first = std::find_if(calls.begin(), calls.end(), HasOverflowed);
    if (first != calls.end()) findings.push_back(Report(context, i, static_cast<size_t>(first - calls.begin())));
  }
  return findings;
}

}  // namespace ddbg::analyzer
