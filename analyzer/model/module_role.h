// What a loaded file is to the program under test, told by its name. One frame of a stack is shown, folded away or
// taken for "the source line" by the role of the file it lies in.
#pragma once

#include <string_view>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

enum class ModuleRole {
  kApplication,  // the program and its own libraries
  kInterpreter,  // Python, Julia, their MPI bindings and PyTorch: the program's line is elsewhere
  kSystem,       // C and C++ run time, dynamic linker, OpenMP run time
  kMpi,          // an MPI library, its plug-ins and transports; NCCL and CUDA
  kRecorder,     // libddbg.so and its unwinder
  kUnknown,      // no module: an address in nothing that was loaded
};

ModuleRole RoleOfModule(std::string_view path);

// A Python file that came with the interpreter or was installed for it, not the program's own.
bool IsPythonLibrary(std::string_view file);

// One of the hooks that libddbg.so brings to Python: no part of the program.
bool IsBridge(std::string_view file);

// The module an address of `process` lies in, or nullptr. Needs Process::modules by start, as load leaves them.
const Module* FindModule(const Process& process, uint64_t address);

// "libfoo.so" of "/usr/lib/libfoo.so".
std::string_view BaseName(std::string_view path);

}  // namespace ddbg::analyzer
