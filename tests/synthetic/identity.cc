#include "tests/synthetic/identity.h"

#include <cstdio>
#include <string>

#include "proto/call.h"

namespace ddbg::synthetic {
namespace {

struct CodeLine {
  const char* function;
  const char* file;
  int line;
};

// Where in the training script each site is.
constexpr CodeLine kLines[kSites] = {
    {"init_groups", "/opt/train/parallel.py", 31},   {"forward", "/opt/train/layers.py", 118},
    {"send_forward", "/opt/train/pipeline.py", 64},  {"recv_forward", "/opt/train/pipeline.py", 52},
    {"backward", "/opt/train/layers.py", 163},       {"send_backward", "/opt/train/pipeline.py", 88},
    {"recv_backward", "/opt/train/pipeline.py", 77}, {"reduce_buckets", "/opt/train/ddp.py", 203},
    {"clip_norm", "/opt/train/optimizer.py", 47},    {"step", "/opt/train/optimizer.py", 71},
    {"save", "/opt/train/checkpoint.py", 19},        {"main", "/opt/train/train.py", 190},
};

constexpr uint32_t kMainCode = kSites + 1;
constexpr uint64_t kModuleBytes = 64 << 20;

const char* const kLibraries[] = {"/usr/bin/python3.11",
                                  "/opt/venv/lib/libtorch_cuda.so",
                                  "/opt/venv/lib/libtorch_python.so",
                                  "/opt/venv/lib/libtorch_cpu.so",
                                  "/opt/venv/lib/libc10_cuda.so",
                                  "/opt/venv/lib/libc10.so",
                                  "/opt/venv/nvidia/lib/libnccl.so.2",
                                  "/opt/venv/nvidia/lib/libcudart.so.12",
                                  "/usr/lib/libcuda.so.1",
                                  "/usr/lib/libc.so.6",
                                  "/usr/lib/libstdc++.so.6",
                                  "/opt/train/fused_ops.so",
                                  "/opt/ddbg/lib/libddbg.so"};
constexpr int kPlainModules = 80;  // what else a training process has loaded

// Each process has its own layout of memory.
uint64_t BaseOf(int rank) { return 0x7f0000000000 + (static_cast<uint64_t>(rank) * 0x9e3779b9 & 0xffffff) * 4096; }

uint64_t Address(int rank, int library, uint64_t offset) {
  return BaseOf(rank) + static_cast<uint64_t>(library) * kModuleBytes + offset;
}

void SetVariable(proto::Process* process, const std::string& key, const std::string& value) {
  proto::KeyValue* pair = process->add_environment();
  pair->set_key(key);
  pair->set_value(value);
}

void AddEnvironment(const Layout& layout, int rank, proto::Process* process) {
  SetVariable(process, "RANK", std::to_string(rank));
  SetVariable(process, "LOCAL_RANK", std::to_string(layout.LocalRank(rank)));
  SetVariable(process, "WORLD_SIZE", std::to_string(layout.ranks()));
  SetVariable(process, "MASTER_ADDR", layout.HostOf(0).name);
  SetVariable(process, "NCCL_IB_HCA", "mlx5_0,mlx5_1,mlx5_2,mlx5_3");
  SetVariable(process, "LD_PRELOAD", "/opt/ddbg/lib/libddbg.so");
  SetVariable(process, "PATH", "/opt/venv/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/bin:/bin");
  for (int i = 0; i < 50; ++i)
    SetVariable(process, "SITE_SETTING_" + std::to_string(i),
                "/shared/projects/model/config/" + std::to_string(i * 7919));
}

proto::Definition StackOf(int rank, int site) {
  proto::Definition definition;
  proto::Stack* stack = definition.mutable_stack();
  stack->set_id(static_cast<uint32_t>(site) + 1);
  auto at = static_cast<uint64_t>(site) * 0x1000;
  uint64_t last = 0;
  for (uint64_t address : {Address(rank, 1, 0x10000 + at), Address(rank, 1, 0x200040), Address(rank, 2, 0x5000 + at),
                           Address(rank, 2, 0x80080), Address(rank, 0, 0x1f0000), Address(rank, 0, 0x210000),
                           Address(rank, 0, 0x250000), Address(rank, 9, 0x29000)}) {
    stack->add_frame(static_cast<int64_t>(address - last));
    last = address;
  }
  auto frame = [](uint64_t code, uint64_t line, bool from_c) { return code << 33 | line << 1 | (from_c ? 1 : 0); };
  if (site != kAtExit) stack->add_python(frame(static_cast<uint64_t>(site) + 1, kLines[site].line, false));
  stack->add_python(frame(kMainCode, 100 + static_cast<uint64_t>(site), true));
  return definition;
}

proto::Definition CodeOf(uint32_t id, const char* function, const char* file, int line) {
  proto::Definition definition;
  proto::PythonCode* code = definition.mutable_python_code();
  code->set_id(id);
  code->set_name(function);
  code->set_file(file);
  code->set_first_line(line);
  return definition;
}

std::string BusId(int local_rank) {
  char text[32];
  snprintf(text, sizeof(text), "0000:%02x:00.0", 0x10 + local_rank);
  return text;
}

void AddDevice(const Layout& layout, int rank, std::vector<proto::Definition>* all) {
  proto::Device* device = all->emplace_back().mutable_device();
  device->set_ordinal(layout.LocalRank(rank));
  device->set_bus_id(BusId(layout.LocalRank(rank)));
  device->set_uuid(std::string(12, 'g') + std::to_string(1000 + rank % 9000));
  device->set_name("NVIDIA H100 80GB HBM3");
  for (uint32_t id : {kComputeStream, kDataStream}) {
    proto::Stream* stream = all->emplace_back().mutable_stream();
    stream->set_id(id);
    stream->set_handle(0x5500000000 + id * 0x1000);
    stream->set_device(layout.LocalRank(rank));
    stream->set_kind("created");
    stream->set_flags(1);
  }
  for (uint32_t id = 1; id <= 4; ++id) {
    proto::Kernel* kernel = all->emplace_back().mutable_kernel();
    kernel->set_id(id);
    kernel->set_name("_Z" + std::to_string(12 + (id > 9)) + "fused_gemm_k" + std::to_string(id) + "Pf");
  }
  for (const char* name : {"NCCL", "CUDA runtime"}) {
    proto::Level* level = all->emplace_back().mutable_level();
    level->set_name(name);
    level->set_on(true);
  }
}

}  // namespace

proto::Process IdentityOf(const Options& options, const Layout& layout, int rank) {
  const HostClock& host = layout.HostOf(rank);
  proto::Process process;
  process.set_run_id("synthetic-" + std::to_string(options.seed));
  process.set_rank(rank);
  process.set_world_size(layout.ranks());
  process.set_local_rank(layout.LocalRank(rank));
  process.set_host(host.name);
  process.set_machine_id("m-" + host.name);
  process.set_boot_id(host.boot_id);
  process.set_pid(20000 + layout.LocalRank(rank));
  process.set_ppid(19999);
  process.set_parent(options.mpi ? "orted" : "torchrun");
  process.set_exe("/usr/bin/python3.11");
  for (const char* word : {"python3", "/opt/train/train.py", "--config", "/opt/train/70b.yaml"}) process.add_argv(word);
  AddEnvironment(layout, rank, &process);
  process.set_cwd("/opt/train");
  process.set_git_commit("6b1f0c2d9a4e4f3c8d7b5a6978e1f0a2b3c4d5e6");
  process.set_start_realtime_ns(host.Realtime(0));
  process.set_start_monotonic_ns(host.Monotonic(0));
  process.set_clock("tsc");
  process.set_stacks("libunwind, CPython 3.11");
  process.set_launcher(options.mpi ? "Open MPI mpirun" : "torchrun");
  process.set_trace_dir(options.out);
  process.set_ddbg_version("0.1.0");
  for (const CallInfo& call : kCalls) process.add_call_name(std::string(call.name));
  return process;
}

proto::Packet ModulesOf(const Options&, int rank) {
  proto::Packet packet;
  auto add = [&](const std::string& path, int index) {
    proto::Module* module = packet.mutable_modules()->add_module();
    module->set_path(path);
    module->set_bias(Address(rank, index, 0));
    module->set_start(Address(rank, index, 0));
    module->set_end(Address(rank, index, kModuleBytes - 4096));
    module->set_build_id(std::string(16, static_cast<char>('a' + index % 26)) + std::to_string(1000 + index));
  };
  int index = 0;
  for (const char* path : kLibraries) add(path, index++);
  for (int i = 0; i < kPlainModules; ++i)
    add("/opt/venv/lib/python3.11/lib-dynload/module_" + std::to_string(i) + ".so", index++);
  return packet;
}

proto::Definition CommunicatorOf(const Options& options, const Layout& layout, int rank, Comm comm) {
  proto::Definition definition;
  proto::Communicator* c = definition.mutable_communicator();
  c->set_id(static_cast<uint32_t>(comm) + 1);
  c->set_uid(layout.Uid(comm, rank));
  c->set_size(static_cast<uint32_t>(layout.SizeOf(comm)));
  c->set_rank(layout.IndexIn(comm, rank));
  if (!options.mpi) {
    c->set_api("NCCL");
    c->set_kind("init");
    c->set_device(layout.LocalRank(rank) + 1);
    c->set_device_id(BusId(layout.LocalRank(rank)));
    c->add_id_hash(layout.Uid(comm, rank));
    c->set_blocking(true);
    return definition;
  }
  std::vector<int> members = layout.Members(comm, layout.GroupOf(comm, rank));
  c->set_kind(comm == kWorld ? "world" : "split");
  if (comm == kWorld) c->set_name("MPI_COMM_WORLD");
  if (comm != kWorld) {
    c->set_parent(kWorld + 1);
    c->set_parent_uid(layout.Uid(kWorld, rank));
    c->set_creation_index(static_cast<uint32_t>(comm) - 1);
    c->set_color(layout.GroupOf(comm, rank));
    c->set_key(rank);
  }
  c->add_members(members[0]);
  c->add_members(static_cast<int32_t>(members.size()));
  c->add_members(members.size() > 1 ? members[1] - members[0] : 1);
  return definition;
}

std::vector<proto::Definition> DefinitionsOf(const Options& options, const Layout& layout, int rank) {
  std::vector<proto::Definition> all;
  proto::Library* library = all.emplace_back().mutable_library();
  library->set_api(options.mpi ? "MPI" : "NCCL");
  if (options.mpi) library->set_abi("Open MPI");
  library->set_version(options.mpi ? "Open MPI v5.0.3" : "2.27.5");
  library->set_path(options.mpi ? "/usr/lib/libmpi.so.40" : kLibraries[6]);
  proto::World* world = all.emplace_back().mutable_world();
  world->set_rank(rank);
  world->set_size(layout.ranks());
  world->set_thread_level(-1);
  proto::Datatype* type = all.emplace_back().mutable_datatype();
  type->set_id(kType);
  type->set_name(options.mpi ? "MPI_FLOAT" : "ncclFloat32");
  type->set_base(type->name());
  type->set_size(4);
  type->set_elements(1);
  type->set_signature(0xf10a7);
  all.push_back(CodeOf(kMainCode, "main", "/opt/train/train.py", 80));
  for (int site = 0; site < kSites; ++site) {
    all.push_back(
        CodeOf(static_cast<uint32_t>(site) + 1, kLines[site].function, kLines[site].file, kLines[site].line - 5));
    all.push_back(StackOf(rank, site));
  }
  if (!options.mpi) AddDevice(layout, rank, &all);
  return all;
}

}  // namespace ddbg::synthetic
