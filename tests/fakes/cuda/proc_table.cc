#include "tests/fakes/cuda/proc_table.h"

// The functions are in other files, with their true types. Linked with -Bsymbolic: nobody's preload comes in between,
// just as with the real driver.
#define ONE(base, since, name) extern "C" void name();
#define TWO(base, since, name, per_thread) \
  extern "C" void name();                  \
  extern "C" void per_thread();
#include "tests/fakes/cuda/proc_addresses.def"
#undef ONE
#undef TWO

namespace nullgpu {
namespace {

constexpr ProcEntry kEntries[] = {
#define ONE(base, since, name) {#base, since, name, name},
#define TWO(base, since, name, per_thread) {#base, since, name, per_thread},
#include "tests/fakes/cuda/proc_addresses.def"
};

}  // namespace

std::span<const ProcEntry> ProcTable() { return kEntries; }

}  // namespace nullgpu
