#include "tests/golden/log_comms.h"

#include <algorithm>
#include <functional>

namespace ddbg::analyzer {

Communicator& LogComms::Add(int rank, Process* process, const std::string& name, const std::vector<int32_t>& members,
                            const std::string& kind, const std::string& parent) {
  Communicator comm;
  comm.id = static_cast<uint32_t>(process->comms.size() + 1);
  comm.uid = std::hash<std::string>{}(name + "/" + std::to_string(made_[{rank, name}]++)) | 1;
  comm.name = name;
  comm.kind = kind;
  comm.size = static_cast<uint32_t>(members.size());
  comm.members = members;
  comm.rank = static_cast<int32_t>(std::find(members.begin(), members.end(), rank) - members.begin());
  if (!parent.empty()) comm.parent = Id(rank, parent), comm.parent_uid = process->comms[comm.parent].uid;
  ids_[{rank, name}] = comm.id;
  return process->comms[comm.id] = comm;
}

uint32_t LogComms::Id(int rank, const std::string& name) const {
  auto found = ids_.find({rank, name});
  return found == ids_.end() ? 0 : found->second;
}

void MakeNccl(const Process& process, Communicator* comm) {
  comm->nccl = true;
  comm->members.clear();
  comm->device = 0;
  comm->device_id = process.devices[0].bus_id;
}

}  // namespace ddbg::analyzer
