#include "tests/fakes/nccl/faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/core/settings.h"

namespace nullnccl {
namespace {

bool Is(const char* name, const char* value) {
  const char* text = getenv(name);
  return text && strcmp(text, value) == 0;
}

RankFault ReadRankFault(const char* name) {
  RankFault fault;
  const char* text = getenv(name);
  if (!text || !*text) return fault;
  if (sscanf(text, "%d:%d", &fault.rank, &fault.value) == 2) return fault;
  fprintf(stderr, "nullnccl: %s is \"%s\", not rank:number\n", name, text);
  return {};
}

Faults Read() {
  Faults faults;
  faults.mismatch_finishes = Is("NULLNCCL_MISMATCH", "finish");
  faults.goes_on_after_mismatch = Is("NULLNCCL_AFTER_MISMATCH", "finish");
  faults.buffered_send = Is("NULLNCCL_SEND", "buffered");
  faults.allow_duplicate = Is("NULLNCCL_ALLOW_DUPLICATE", "1");
  faults.peer_death = Is("NULLNCCL_PEER_DEATH", "1");
  faults.init_error = ReadRankFault("NULLNCCL_INIT_ERROR");
  faults.stall = ReadRankFault("NULLNCCL_STALL");
  faults.delay = ReadRankFault("NULLNCCL_DELAY");
  faults.channels = ReadRankFault("NULLNCCL_CHANNELS");
  faults.version = nullgpu::EnvironmentInt("NULLNCCL_VERSION", 22809);
  return faults;
}

}  // namespace

const Faults& GetFaults() {
  static const Faults* faults = new Faults(Read());
  return *faults;
}

}  // namespace nullnccl
