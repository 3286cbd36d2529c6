// How NCCL comes to libddbg.so as its profiler plugin, and how another plugin keeps its place.
//
// NCCL opens the library that NCCL_PROFILER_PLUGIN names (a path, a suffix of libnccl-profiler-X.so, or STATIC_PLUGIN
// for the program itself), else libnccl-profiler.so, else its network plugin's, and looks for ncclProfiler_vN in it,
// the highest N first (src/plugin/plugin_open.cc and profiler.cc, 2.23.4 to 2.31). So:
//
// * Nobody named one: with DDBG_NCCL_PLUGIN=1 a constructor puts NCCL_PROFILER_PLUGIN=<path of this library> into the
//   environment. Before main there is no other thread that could read it meanwhile, and no NCCL has read it; later
//   would be a race with every getenv of the process. A libnccl-profiler.so, which NCCL would have found by itself, is
//   opened by us then.
// * Another one is named: the environment is left alone. NCCL opens that one and asks dlsym for its functions: our hook
//   of dlsym answers with ours of the same version, which call the other's.
// * "none": none it is.
// * Ours, or STATIC_PLUGIN, with DDBG_NCCL_PLUGIN not set: on if the name is ours, or if NCCL is part of the program.
// * Off: STATIC_PLUGIN means the program's own plugin, and what we export must not be found in its place, so the dlsym
//   hook says that there is none. Where the hook does not reach, init declines with an empty mask, by which NCCL makes
//   no events: an error would be a warning in its log, or, until 2.27, in everybody's.
//
// An NCCL linked statically reads the same variable. Without a preload, NCCL_PROFILER_PLUGIN=…/libddbg.so alone records
// by the plugin what can be recorded so.
#pragma once

namespace ddbg::shim::nccl::plugin {

// Is libddbg.so to be a plugin in this process? Reads the environment.
bool IsWanted() noexcept;

// `name` is ncclProfiler_vN of a version that we have: what dlsym says, by what was found. nullptr: another name.
using Answer = void*(void* found);
Answer* AnswerFor(const char* name) noexcept;

// The other plugin's ncclProfiler_vN; nullptr: there is none.
const void* OtherPlugin(int version) noexcept;

}  // namespace ddbg::shim::nccl::plugin
