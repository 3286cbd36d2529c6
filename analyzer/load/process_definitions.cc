// What the ids in records mean: stacks, communicators, datatypes, libraries, modules.
#include <algorithm>
#include <utility>

#include "analyzer/load/process_loader.h"

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
    case proto::Definition::kLibrary: return AddLibrary(definition.library());
    case proto::Definition::kWorld:
      process_.mpi_rank = definition.world().rank();
      process_.mpi_size = definition.world().size();
      process_.tag_ub = definition.world().tag_ub();
      return;
    case proto::Definition::kCommunicatorFreed:
      process_.comms[definition.communicator_freed().id()].freed = true;
      return;
    case proto::Definition::kStream: {
      const proto::Stream& d = definition.stream();
      process_.streams[d.id()] = {d.handle(), d.device(), d.kind(), d.flags(), d.priority(), d.tid()};
      return;
    }
    case proto::Definition::kKernel: process_.kernels[definition.kernel().id()] = definition.kernel().name(); return;
    case proto::Definition::kMarkName:
      process_.mark_names[definition.mark_name().id()] = definition.mark_name().name();
      return;
    case proto::Definition::kDevice: return AddDevice(definition.device());
    case proto::Definition::kLevel: return AddLevel(definition.level());
    default: return;
  }
}

// A program may have two copies of NCCL or CUDA's runtime; the same one may be told twice.
void ProcessLoader::AddLibrary(const proto::Library& d) {
  if (d.api().empty() || d.api() == "MPI") {
    process_.mpi_abi = d.abi();
    process_.mpi_version = d.version();
    process_.mpi_path = d.path();
    return;
  }
  for (const Library& known : process_.libraries)
    if (known.api == d.api() && known.path == d.path() && known.version == d.version()) return;
  process_.libraries.push_back({d.api(), d.abi(), d.version(), d.path()});
}

void ProcessLoader::AddDevice(const proto::Device& d) {
  Device device{d.ordinal(), d.bus_id(), d.uuid(), d.name()};
  for (Device& known : process_.devices)
    if (known.ordinal == device.ordinal) return static_cast<void>(known = device);
  process_.devices.push_back(device);
  std::sort(process_.devices.begin(), process_.devices.end(),
            [](const Device& a, const Device& b) { return a.ordinal < b.ordinal; });
}

void ProcessLoader::AddLevel(const proto::Level& d) {
  Level level{d.name(), d.on(), d.why()};
  for (Level& known : process_.levels)
    if (known.name == level.name) return static_cast<void>(known = level);
  process_.levels.push_back(level);
}

// What NCCL's first communicator says of rank and size counts only where there is no MPI to ask.
void ProcessLoader::SettleWorld() {
  bool nccl = std::any_of(process_.libraries.begin(), process_.libraries.end(),
                          [](const Library& library) { return library.api == "NCCL"; });
  if (!nccl || !process_.mpi_abi.empty() || process_.mpi_rank < 0) return;
  process_.nccl_rank = std::exchange(process_.mpi_rank, -1);
  process_.nccl_size = std::exchange(process_.mpi_size, -1);
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
  comm.nccl = comm.nccl || c.api() == "NCCL";
  if (c.device() > 0) comm.device = c.device() - 1;
  if (!c.device_id().empty()) comm.device_id = c.device_id();
  bool group = c.kind() == "group";  // ranks that a call names: no communicator, and no uid
  if (c.uid() == 0 && !group) {      // only what was learned since
    if (c.size() > 0) comm.size = c.size(), comm.rank = c.rank();
    return;
  }
  comm.uid = c.uid();
  comm.parent_uid = c.parent_uid();
  comm.parent = c.parent();
  comm.creation_index = c.creation_index();
  comm.kind = c.kind();
  comm.size = c.size();
  comm.rank = c.rank();
  comm.remote_size = c.remote_size();
  comm.peer_base = -1;
  comm.members = ExpandMembers(c.members(), members_left_);
  members_left_ -= comm.members.size();
  if (comm.members.empty() && !c.members().empty()) malformed_ = true;
  comm.color = c.color();
  comm.key = c.key();
  if (!comm.nccl) return;
  comm.blocking = c.blocking();
  comm.id_hash.assign(c.id_hash().begin(), c.id_hash().end());
  comm.id_use = c.id_use();
  comm.excluded.assign(c.excluded().begin(), c.excluded().end());
  comm.config.clear();
  for (const proto::KeyValue& pair : c.config()) comm.config.push_back({pair.key(), pair.value()});
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
