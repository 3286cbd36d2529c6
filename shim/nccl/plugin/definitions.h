// What the plugin's records refer to, written before their first use.
#pragma once

#include "shim/nccl/plugin/told.h"
#include "shim/recorder/recorder.h"

namespace ddbg::shim::nccl::plugin {

// Before any plan. False: no memory.
bool PreparePlans(ThreadState& t) noexcept;

// Algorithm, protocol, channels and warps, as one id; 0: no room for new ones.
uint32_t PlanId(ThreadState& t, const Told& told) noexcept;

// Of a Datatype; 0: a type unknown to us.
uint32_t TypeIdOf(const char* name) noexcept;

// Index into kCalls of what NCCL calls `func` ("AllReduce"); -1: unknown.
int CallOf(const char* func) noexcept;
bool HasRoot(int call) noexcept;

// A communicator that a wrapper has defined: NCCL's own name of it.
void DefineHash(ThreadState& t, uint32_t comm, uint64_t hash) noexcept;
// One that no wrapper has seen made: equal on all ranks, since `hash` is. 0 (before v4): unknown. Returns its id.
uint32_t DefineCommunicator(ThreadState& t, uint64_t hash, const char* name, int32_t ranks, int32_t rank) noexcept;

// Once a process: that the plugin is on, what it costs, and, where there are no wrappers, how NCCL is seen.
void DefineLevel(ThreadState& t, int version, bool has_other) noexcept;

}  // namespace ddbg::shim::nccl::plugin
