// What the ids in records mean: stacks, communicators, datatypes, libraries, modules.
#include <algorithm>

#include "analyzer/process_loader.h"

namespace ddbg::analyzer {
namespace {

// Runs of equal stride: first (as delta to the end of the run before), length, stride. Empty if there are more than
// `most`.
std::vector<int32_t> ExpandMembers(const google::protobuf::RepeatedField<int32_t>& runs, size_t most) {
  std::vector<int32_t> members;
  int32_t last = 0;
  for (int i = 0; i + 2 < runs.size(); i += 3) {
    int64_t first = int64_t{last} + runs[i], length = runs[i + 1], stride = runs[i + 2];
    if (length <= 0 || members.size() + static_cast<size_t>(length) > most) return {};
    size_t before = members.size();
    members.resize(before + static_cast<size_t>(length));
    for (int64_t k = 0; k < length; ++k) members[before + k] = static_cast<int32_t>(first + k * stride);
    last = members.back();
  }
  return members;
}

}  // namespace

void ProcessLoader::AddDefinition(const proto::Definition& definition) {
  switch (definition.body_case()) {
    case proto::Definition::kStack: return AddStack(definition.stack());
    case proto::Definition::kPythonCode: {
      const proto::PythonCode& code = definition.python_code();
      process_.python_codes[code.id()] = {code.name(), code.file(), code.first_line()};
      return;
    }
    case proto::Definition::kCommunicator: return AddCommunicator(definition.communicator());
    case proto::Definition::kDatatype: {
      const proto::Datatype& d = definition.datatype();
      process_.dtypes[d.id()] = {d.name(), d.size(), d.base(), d.elements(), d.signature()};
      return;
    }
    case proto::Definition::kLibrary:
      process_.mpi_abi = definition.library().abi();
      process_.mpi_version = definition.library().version();
      process_.mpi_path = definition.library().path();
      return;
    case proto::Definition::kWorld:
      process_.mpi_rank = definition.world().rank();
      process_.mpi_size = definition.world().size();
      return;
    case proto::Definition::kCommunicatorFreed:
      process_.comms[definition.communicator_freed().id()].freed = true;
      return;
    default: return;
  }
}

void ProcessLoader::AddStack(const proto::Stack& definition) {
  std::vector<uint64_t>& stack = process_.stacks_by_id[definition.id()];
  stack.clear();
  uint64_t address = 0;
  for (int64_t delta : definition.frame()) stack.push_back(address += static_cast<uint64_t>(delta));
  if (definition.python().empty()) return;
  std::vector<PythonFrame>& python = process_.python_by_stack_id[definition.id()];
  python.clear();
  for (uint64_t frame : definition.python())
    python.push_back(
        {static_cast<uint32_t>(frame >> 33), static_cast<int>(static_cast<uint32_t>(frame >> 1)), (frame & 1) != 0});
}

// A definition may be repeated by a resumed sender after the communicator was named or freed: neither is undone.
void ProcessLoader::AddCommunicator(const proto::Communicator& c) {
  Communicator& comm = process_.comms[c.id()];
  comm.id = c.id();
  if (!c.name().empty()) comm.name = c.name();
  if (c.uid() == 0) return;  // only a new name
  comm.uid = c.uid();
  comm.parent_uid = c.parent_uid();
  comm.parent = c.parent();
  comm.creation_index = c.creation_index();
  comm.kind = c.kind();
  comm.size = c.size();
  comm.rank = c.rank();
  comm.remote_size = c.remote_size();
  comm.members = ExpandMembers(c.members(), members_left_);
  members_left_ -= comm.members.size();
  if (comm.members.empty() && !c.members().empty()) malformed_ = true;
}

void ProcessLoader::AddModules(const proto::Modules& modules) {
  process_.modules.clear();
  for (const proto::Module& m : modules.module()) {
    process_.modules.push_back({m.path(), m.bias(), m.start(), m.end(), m.build_id()});
  }
  std::sort(process_.modules.begin(), process_.modules.end(),
            [](const Module& a, const Module& b) { return a.start < b.start; });
}

}  // namespace ddbg::analyzer
