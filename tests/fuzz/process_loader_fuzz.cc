// The chunks of a trace file become a process: any bytes give a model that its readers can rely on, and no larger than
// the bytes can account for.
//
//     input = chunk*, each size u16, bytes
#include <algorithm>

#include "analyzer/load/process_loader.h"
#include "tests/fuzz/input.h"

using namespace ddbg;
using namespace ddbg::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  analyzer::ProcessLoader loader;
  for (Input input(bytes, size); !input.empty();) loader.Add(input.Bytes(input.Word()));
  analyzer::Process process = loader.Finish("file");
  Require(process.calls.size() <= size);
  bool sorted = std::is_sorted(process.calls.begin(), process.calls.end(),
                               [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  Require(sorted);
  Require(process.lost.size() == kLossCauses);
  // Columns that readers index by entry; a packet's few bytes stand for at most some thousand entries.
  Require(process.samples.t_ns.size() <= size);
  Require(std::is_sorted(process.samples.t_ns.begin(), process.samples.t_ns.end()));
  for (const auto& column : process.samples.columns) Require(column.values.size() == process.samples.t_ns.size());
  for (const auto& [index, detail] : process.open_detail) Require(process.calls.at(index).open());
  return 0;
}
