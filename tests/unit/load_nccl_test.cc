// What NCCL and CUDA define in a trace.
#include <gtest/gtest.h>

#include "analyzer/load/load.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/comm_name.h"
#include "tests/unit/made_trace.h"
#include "tests/unit/scratch_dir.h"

namespace ddbg::analyzer {
namespace {

using test::SomeProcess;
using test::TraceFile;

proto::Definition SomeNcclCommunicator(uint32_t id) {
  proto::Definition definition;
  proto::Communicator* comm = definition.mutable_communicator();
  comm->set_id(id);
  comm->set_uid(0xabc);
  comm->set_api("NCCL");
  comm->set_kind("init");
  comm->set_size(8);
  comm->set_rank(3);
  comm->add_id_hash(77);
  comm->set_id_use(2);
  comm->set_blocking(true);
  return definition;
}

Process Load(const std::vector<proto::Definition>& definitions, int rank = 0, int size = 2) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(rank, size));
  std::vector<uint64_t> positions;
  for (size_t i = 0; i < definitions.size(); ++i) positions.push_back(i);
  file.Add(definitions, positions);
  EXPECT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  EXPECT_TRUE(process.ok());
  return *std::move(process);
}

TEST(LoadNccl, CommunicatorLearnsItsDeviceAfterItsInit) {
  proto::Definition before = SomeNcclCommunicator(4), after;
  after.mutable_communicator()->set_id(4);
  after.mutable_communicator()->set_api("NCCL");
  after.mutable_communicator()->set_size(8);
  after.mutable_communicator()->set_rank(3);
  after.mutable_communicator()->set_device(3 + 1);
  after.mutable_communicator()->set_device_id("0000:3b:00.0");

  Communicator comm = Load({before, after}).comms.at(4);

  EXPECT_TRUE(comm.nccl);
  EXPECT_TRUE(comm.blocking);
  EXPECT_EQ(comm.device, 3);
  EXPECT_EQ(comm.device_id, "0000:3b:00.0");
  EXPECT_EQ(comm.id_hash, std::vector<uint64_t>{77});
  EXPECT_EQ(comm.id_use, 2u);
}

TEST(LoadNccl, CommunicatorWithoutANameIsToldByItsSize) {
  proto::Definition named = SomeNcclCommunicator(5), split = SomeNcclCommunicator(6);
  named.mutable_communicator()->set_name("dp");
  split.mutable_communicator()->set_kind("split");
  split.mutable_communicator()->set_parent(4);
  split.mutable_communicator()->set_creation_index(1);

  Process process = Load({SomeNcclCommunicator(4), named, split});

  EXPECT_EQ(CommName(process, 4), "NCCL communicator of 8 ranks");
  EXPECT_EQ(CommName(process, 5), "dp");
  EXPECT_EQ(CommName(process, 6), "split#1 of NCCL communicator of 8 ranks");
}

TEST(LoadNccl, StreamsKernelsDevicesAndLevels) {
  proto::Definition stream, kernel, second, first, off, on;
  stream.mutable_stream()->set_id(7);
  stream.mutable_stream()->set_handle(0xdeadbeef);
  stream.mutable_stream()->set_device(1);
  stream.mutable_stream()->set_kind("created");
  stream.mutable_stream()->set_flags(1);
  kernel.mutable_kernel()->set_id(2);
  kernel.mutable_kernel()->set_name("_Z4stepPfi");
  second.mutable_device()->set_ordinal(1);
  second.mutable_device()->set_bus_id("0000:02:00.0");
  first.mutable_device()->set_ordinal(0);
  off.mutable_level()->set_name("GPU completion");
  off.mutable_level()->set_why("DDBG_KERNEL_TIMING is off");
  on.mutable_level()->set_name("GPU completion");
  on.mutable_level()->set_on(true);

  Process process = Load({stream, kernel, second, first, off, on});

  EXPECT_EQ(process.streams.at(7).handle, 0xdeadbeefu);
  EXPECT_FALSE(process.streams.at(7).blocking());
  EXPECT_EQ(StreamName(process, 7), "stream 7");
  EXPECT_EQ(KernelName(process, 2), "step(float*, int)");
  ASSERT_EQ(process.devices.size(), 2u);
  EXPECT_EQ(process.devices[1].bus_id, "0000:02:00.0");
  ASSERT_EQ(process.levels.size(), 1u);  // the later word counts
  EXPECT_TRUE(process.levels[0].on);
}

TEST(LoadNccl, LibrariesOfEachApiStandBesideMpis) {
  proto::Definition mpi, nccl;
  mpi.mutable_library()->set_api("MPI");
  mpi.mutable_library()->set_abi("MPICH");
  nccl.mutable_library()->set_api("NCCL");
  nccl.mutable_library()->set_version("2.28.9");

  Process process = Load({mpi, nccl, nccl});

  EXPECT_EQ(process.mpi_abi, "MPICH");
  ASSERT_EQ(process.libraries.size(), 1u);
  EXPECT_EQ(process.libraries[0].version, "2.28.9");
}

TEST(LoadNccl, RankOfNcclIsTheLastResort) {
  proto::Definition nccl, world;
  nccl.mutable_library()->set_api("NCCL");
  world.mutable_world()->set_rank(5);
  world.mutable_world()->set_size(8);

  EXPECT_EQ(Load({nccl, world}, -1, -1).rank(), 5);
  EXPECT_EQ(Load({nccl, world}, -1, -1).world_size(), 8);
  EXPECT_EQ(Load({nccl, world}, 1, 2).rank(), 1);
}

TEST(LoadNccl, ResultsHaveTheNamesOfTheirApi) {
  Call nccl, cuda, driver, mpi;
  nccl.call = CallId(NcclCall::ncclAllReduce);
  nccl.result = 5;
  cuda.call = CallId(CudaCall::cudaMalloc);
  cuda.result = 2;
  driver.call = CallId(CudaDriverCall::cuMemAlloc_v2);
  driver.result = 2;
  mpi.call = CallId(MpiCall::Allreduce);
  mpi.result = 15;

  EXPECT_EQ(ResultText(nccl), "ncclInvalidUsage (5)");
  EXPECT_EQ(ResultText(cuda), "cudaErrorMemoryAllocation (2)");
  EXPECT_EQ(ResultText(driver), "CUDA_ERROR_OUT_OF_MEMORY (2)");
  EXPECT_EQ(ResultText(mpi), "15");
}

}  // namespace
}  // namespace ddbg::analyzer
