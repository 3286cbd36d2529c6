#include "analyzer/report/spawned.h"

#include <fmt/format.h>

#include <numeric>
#include <vector>

#include "analyzer/model/call_fields.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {

std::string SpawnedText(const Run& run, const SpawnedWorld& world, const std::string& line) {
  std::vector<int32_t> ranks(static_cast<size_t>(world.size));
  std::iota(ranks.begin(), ranks.end(), world.first);
  std::string text = fmt::format("{} {} an MPI_COMM_WORLD of {} own", RankList(ranks), world.size == 1 ? "is" : "are",
                                 world.size == 1 ? "its" : "their");
  for (const Process& process : run.processes) {
    if (world.root < 0 || process.rank() != world.root || world.call >= process.calls.size()) continue;
    text += fmt::format(", spawned by rank {} in {}{}{}", world.root, CallName(process, process.calls[world.call]),
                        line.empty() ? "" : " at ", line);
    break;
  }
  return text;
}

}  // namespace ddbg::analyzer
