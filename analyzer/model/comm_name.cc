#include "analyzer/model/comm_name.h"

#include <fmt/format.h>

#include <charconv>

namespace ddbg::analyzer {
namespace {

constexpr int kMaxDepth = 8;  // of splits of splits; a damaged trace may even have a circle

// Open MPI gives every communicator a name of its own accord, with a number that differs between ranks.
bool IsGivenByTheProgram(const std::string& name) { return !name.empty() && !name.starts_with("MPI COMMUNICATOR "); }

std::string NameOf(const Process& process, uint32_t id, int depth) {
  auto found = process.comms.find(id);
  if (found == process.comms.end()) return fmt::format("communicator {}", id);
  const Communicator& comm = found->second;
  if (IsGivenByTheProgram(comm.name)) return comm.name;
  if (comm.kind.empty()) return fmt::format("communicator {}", id);
  if (comm.nccl && comm.parent == 0) return fmt::format("NCCL communicator of {} ranks", comm.size);
  if (comm.kind == "gloo_unnamed") return fmt::format("gloo context of {} ranks", comm.size);
  if (comm.parent == 0 || depth == kMaxDepth) return comm.kind;
  return fmt::format("{}#{} of {}", comm.kind, comm.creation_index, NameOf(process, comm.parent, depth + 1));
}

}  // namespace

std::string CommName(const Process& process, uint32_t comm) { return comm == 0 ? "" : NameOf(process, comm, 0); }

std::string CommUidText(uint64_t uid) { return fmt::format("{:016x}", uid); }

bool CommMatches(const Process& process, uint32_t comm, std::string_view text) {
  auto found = process.comms.find(comm);
  if (found == process.comms.end()) return false;
  if (CommName(process, comm) == text) return true;
  if ((text == "world" || text == "self") && found->second.kind == text) return true;
  if (text.starts_with("0x")) text.remove_prefix(2);
  uint64_t uid = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), uid, 16);
  return error == std::errc() && end == text.data() + text.size() && uid == found->second.uid && uid != 0;
}

}  // namespace ddbg::analyzer
