#include "tests/fakes/nccl/create.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "tests/fakes/core/device.h"
#include "tests/fakes/core/settings.h"
#include "tests/fakes/nccl/faults.h"

namespace nullnccl {
namespace {

constexpr char kIdPrefix[] = "nullnccl-";

// Takes the rank's place. If two say the same rank, or they disagree about how many they are, the real library's
// bootstrap root gives up and all wait for it: so here nobody gets further.
void TakePlace(ncclComm& comm) {
  Segment& segment = *comm.segment;
  int nobody = 0, unknown = 0;
  bool fits = segment.pid[comm.rank].compare_exchange_strong(nobody, getpid());
  fits &= segment.ranks.compare_exchange_strong(unknown, comm.ranks) || unknown == comm.ranks;
  if (!fits) {
    nullgpu::Trace("nccl init of %s is broken: rank %d of %d", comm.id.c_str(), comm.rank, comm.ranks);
    segment.broken = 1;
    return;
  }
  const RankFault& channels = GetFaults().channels;
  segment.device[comm.rank] = nullgpu::MachineDevice(comm.device);
  segment.channels[comm.rank] = channels.rank == comm.lineage->rank ? channels.value : kChannels;
  ++segment.joined;
}

Result CheckDevices(const ncclComm& comm) {
  if (GetFaults().allow_duplicate) return kSuccess;
  for (int a = 0; a < comm.ranks; ++a) {
    for (int b = a + 1; b < comm.ranks; ++b) {
      if (comm.segment->device[a] != comm.segment->device[b]) continue;
      char text[96];
      snprintf(text, sizeof(text), "Duplicate GPU detected : rank %d and rank %d both on CUDA device %x", a, b,
               (16 + comm.segment->device[a]) << 12);
      return Fail(kInvalidUsage, text);
    }
  }
  return kSuccess;
}

void SayReady(const ncclComm& comm) {
  nullgpu::Trace("nccl comm %p ready rank %d/%d id %s", static_cast<const void*>(&comm), comm.rank, comm.ranks,
                 comm.id.c_str());
  const char* level = getenv("NCCL_DEBUG");
  if (!level || (strcmp(level, "INFO") && strcmp(level, "TRACE"))) return;
  char host[64] = "";
  gethostname(host, sizeof(host) - 1);
  int channels = comm.segment->channels[comm.rank];
  fprintf(stderr, "%s:%d:%ld [%d] NCCL INFO %d coll channels, %d collnet channels, 0 nvls channels, %d p2p channels\n",
          host, getpid(), syscall(SYS_gettid), comm.device, channels, 0, channels);
  fprintf(stderr, "%s:%d:%ld [%d] NCCL INFO comm %p rank %d nRanks %d cudaDev %d - Init COMPLETE\n", host, getpid(),
          syscall(SYS_gettid), comm.device, static_cast<const void*>(&comm), comm.rank, comm.ranks, comm.device);
}

}  // namespace

UniqueId MakeUniqueId() {
  UniqueId id = {};
  unsigned long long random[2] = {};
  if (getrandom(random, sizeof(random), 0) != sizeof(random)) random[0] = getpid();
  snprintf(id.bytes, sizeof(id.bytes), "%s%016llx%016llx", kIdPrefix, random[0], random[1]);
  return id;
}

bool IsUniqueId(const UniqueId& id) { return strncmp(id.bytes, kIdPrefix, strlen(kIdPrefix)) == 0; }

std::string NameOf(const UniqueId* ids, int count) {
  std::string name(ids[0].bytes, strnlen(ids[0].bytes, sizeof(ids[0].bytes)));
  if (count == 1) return name;
  uint64_t hash = 14695981039346656037u;  // FNV-1a over all ids
  for (int i = 0; i < count; ++i) {
    for (char byte : ids[i].bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  }
  char suffix[24];
  snprintf(suffix, sizeof(suffix), "-n%016llx", static_cast<unsigned long long>(hash));
  return name + suffix;
}

Result Join(ncclComm& comm) {
  comm.segment = MapSegment(comm.id);
  if (!comm.segment) return Fail(kSystemError, "cannot make the shared segment " + comm.id);
  TakePlace(comm);
  bool met = comm.WaitFor([&] { return !comm.segment->broken && comm.segment->joined == comm.ranks; }, false);
  if (!met || comm.rank == 0) UnlinkSegment(comm.id);
  if (!met) return Fail(kInternalError, "init was aborted");
  for (int other = 0; other < comm.ranks; ++other) {
    comm.channels_agree &= comm.segment->channels[other] == comm.segment->channels[comm.rank];
  }
  if (Result error = CheckDevices(comm)) return error;
  SayReady(comm);
  return kSuccess;
}

Result MeetOnHost(ncclComm& parent, uint64_t step, int64_t first, int64_t second, Told* told) {
  Lane* lanes = parent.segment->host_lane;
  bool met = parent.Meet(
      lanes, step, false,
      [&] {
        lanes[parent.rank].values[0] = first;
        lanes[parent.rank].values[1] = second;
      },
      [&] {
        for (int other = 0; other < parent.ranks; ++other) {
          told->push_back({lanes[other].values[0], lanes[other].values[1]});
        }
      });
  return met ? kSuccess : Fail(kInternalError, "the communicator was aborted");
}

Result Split(ncclComm& parent, uint64_t step, int color, int key, ncclComm& comm) {
  Told told;
  if (Result error = MeetOnHost(parent, step, color, key, &told)) return error;
  if (color < 0) return kSuccess;
  std::vector<std::pair<int64_t, int>> members;  // by key, then by rank
  for (int other = 0; other < parent.ranks; ++other) {
    if (told[other].first == color) members.push_back({told[other].second, other});
  }
  std::sort(members.begin(), members.end());
  comm.ranks = static_cast<int>(members.size());
  for (int i = 0; i < comm.ranks; ++i) {
    if (members[i].second == parent.rank) comm.rank = i;
  }
  comm.id = parent.id + "-s" + std::to_string(step) + "c" + std::to_string(color);
  return Join(comm);
}

}  // namespace nullnccl
