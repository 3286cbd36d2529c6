// The names the dlsym hook answers for, from the call tables; sorted when this is compiled.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "proto/call.h"
#include "shim/interpose/dlsym_hook.h"
#include "shim/nccl/library.h"

#define DDBG_NCCL(name, ...) \
  extern "C" void name();    \
  extern "C" void p##name();
#include "proto/calls_nccl.def"
#undef DDBG_NCCL

namespace ddbg::shim {
namespace {

struct Name {
  std::string_view name;
  void (*wrapper)();
  LibraryCopies* copies;
};

constexpr auto MakeNames() {
  std::array names = {
#define DDBG_NCCL(name, ...) Name{#name, name, &nccl::g_copies}, Name{"p" #name, p##name, &nccl::g_copies},
#include "proto/calls_nccl.def"
#undef DDBG_NCCL
  };
  std::sort(names.begin(), names.end(), [](const Name& a, const Name& b) { return a.name < b.name; });
  return names;
}

constexpr auto kNames = MakeNames();

// Every look-up of every program comes here: most are told by their first letters.
bool MayBeOurs(const char* name) {
  if (name[0] == 'p') ++name;
  return (name[0] == 'n' && name[1] == 'c' && name[2] == 'c') || (name[0] == 'c' && name[1] == 'u') ||
         (name[0] == '_' && name[1] == '_' && name[2] == 'c');
}

}  // namespace

HookedFunction FindHooked(const char* name) noexcept {
  if (!MayBeOurs(name)) return {};
  std::string_view wanted = name;
  auto found = std::lower_bound(kNames.begin(), kNames.end(), wanted,
                                [](const Name& row, std::string_view text) { return row.name < text; });
  if (found == kNames.end() || found->name != wanted) return {};
  return {reinterpret_cast<void*>(found->wrapper), found->copies};
}

}  // namespace ddbg::shim
