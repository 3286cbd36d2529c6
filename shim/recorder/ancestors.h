// The processes above this one: who started it, and of which program it is a part. Reads /proc; sender thread only.
#pragma once

#include <cstdint>
#include <string>

namespace ddbg::shim {

struct Ancestor {
  int pid = 0;  // 0: none
  int parent = 0;
  uint64_t start_ticks = 0;  // since boot, sysconf(_SC_CLK_TCK) a second
  uint64_t code_start = 0,
           stack_start = 0;  // of its image; equal after a fork, hardly after an exec; 0, 1: not to be read
  std::string name;          // of the command
};

bool ReadProcess(int pid, Ancestor* out);

// How this process came from another of its program: "spawn", "forkserver" (Python's multiprocessing), "fork"; "" if it
// is the program's first.
std::string StartMethod();

// The first process of this one's program: itself, where it was neither forked nor started by Python's multiprocessing.
Ancestor FirstOfProgram();

// The nearest launcher above this process, of `mpi` only; the parent if none is known by name.
Ancestor FindLauncher(bool mpi);

// "20260102T030405": when it started, in UTC, by the node's clock now.
std::string StartTime(const Ancestor& process);

// Command name of a process, "" if it cannot be read.
std::string CommandName(int pid);

// Was a process started with this variable in its environment?
bool WasStartedWith(int pid, const std::string& variable);

}  // namespace ddbg::shim
