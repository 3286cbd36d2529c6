#include "shim/recorder/python/layout.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

namespace ddbg::shim {
namespace {

constinit PythonLayout g_found = {};

// Parts that several versions share.
const char* SetFrames38(PythonLayout* p) {
  p->state_frame = 24;
  p->frame_previous = 24;
  p->frame_code = 32;
  p->frame_position = p->minor < 10 ? 104 : 96;
  p->code_first_line = 40;
  p->code_file = 104;
  p->code_name = 112;
  p->code_lines = 120;
  return nullptr;
}

const char* SetFrames311(PythonLayout* p) {
  p->through_cframe = true;
  p->state_frame = 56;
  p->cframe_frame = p->minor == 11 ? 8 : 0;
  p->frame_code = p->minor == 11 ? 32 : 0;
  p->frame_previous = p->minor == 11 ? 48 : 8;
  p->frame_position = 56;
  p->frame_owner = p->minor == 11 ? 69 : 70;
  p->first_foreign_owner = 3;  // FRAME_OWNED_BY_CSTACK, since 3.12
  p->frame_is_entry = p->minor == 11 ? 68 : 0;
  p->code_first_line = p->minor == 11 ? 72 : 68;
  p->code_file = 112;
  p->code_name = 128;  // co_qualname
  p->code_lines = 136;
  p->code_version = p->minor == 11 ? 0 : 92;
  return nullptr;
}

// _Py_DebugOffsets at the start of _PyRuntime: where each number lies in it differs by version.
struct DebugOffsets {
  uint16_t current_frame, previous, executable, instr_ptr, owner, filename, qualname, linetable, firstlineno, ascii;
};
constexpr DebugOffsets k313 = {184, 232, 240, 248, 264, 280, 296, 304, 312, 560};
constexpr DebugOffsets k314 = {208, 256, 264, 272, 288, 320, 336, 344, 352, 640};
constexpr size_t kFreeThreaded = 16;
constexpr uint64_t kLargestOffset = 4096;

const char* SetFrames313(PythonLayout* p, const char* runtime) {
  constexpr char kCookie[] = "xdebugpy";
  if (!runtime || memcmp(runtime, kCookie, 8) != 0) return "it has no _Py_DebugOffsets";
  bool in_range = true;
  auto number = [&](size_t at) {
    uint64_t value;
    memcpy(&value, runtime + at, sizeof(value));
    in_range = in_range && value < kLargestOffset;
    return static_cast<uint16_t>(value);
  };
  if (number(kFreeThreaded) != 0) return "it is a free-threaded build";
  const DebugOffsets& at = p->minor == 13 ? k313 : k314;
  p->state_frame = number(at.current_frame);
  p->frame_code = number(at.executable);
  p->frame_previous = number(at.previous);
  p->frame_position = number(at.instr_ptr);
  p->frame_owner = number(at.owner);
  p->first_foreign_owner = 3;  // FRAME_OWNED_BY_CSTACK; 3.14 puts FRAME_OWNED_BY_INTERPRETER there and that one behind
  p->code_first_line = number(at.firstlineno);
  p->code_file = number(at.filename);
  p->code_name = number(at.qualname);
  p->code_lines = number(at.linetable);
  p->code_version = 92;  // not in the table
  p->text_ascii = number(at.ascii);
  p->text_wide = static_cast<uint16_t>(p->text_ascii + 16);
  return in_range ? nullptr : "its _Py_DebugOffsets are damaged";
}

int MinorVersion(const char* text) {
  if (strncmp(text, "3.", 2) != 0) return -1;
  int minor = 0;
  for (const char* c = text + 2; *c >= '0' && *c <= '9'; ++c) minor = minor * 10 + (*c - '0');
  return minor;
}

// PyTypeObject::tp_basicsize of code objects is where their instructions start (3.11 and later).
uint16_t BasicSize(uintptr_t type) {
  constexpr size_t kBasicSize = 32;
  return *reinterpret_cast<const uint16_t*>(type + kBasicSize);
}

bool IsPythonLibrary(const char* path) {
  const char* slash = strrchr(path, '/');
  return strncmp(slash ? slash + 1 : path, "libpython3", 10) == 0;
}

int FindLibrary(dl_phdr_info* info, size_t, void* path) {
  if (!info->dlpi_name || !IsPythonLibrary(info->dlpi_name)) return 0;
  *static_cast<const char**>(path) = info->dlpi_name;
  return 1;
}

// The scope that has it: the program's own, or that of a library that was loaded for itself, which may never go away
// once we know addresses in it.
void* PythonScope() {
  const char* path = nullptr;
  dl_iterate_phdr(FindLibrary, static_cast<void*>(&path));
  void* library = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) : nullptr;
  return library ? library : RTLD_DEFAULT;
}

template <typename F>
bool Find(void* scope, const char* name, F* symbol) {
  *symbol = reinterpret_cast<F>(dlsym(scope, name));
  return *symbol != F{};
}

bool FindSymbols(void* scope, PythonLayout* p) {
  return Find(scope, "PyGILState_GetThisThreadState", &p->this_thread_state) &&
         Find(scope, "PyCode_Type", &p->code_type) && Find(scope, "PyUnicode_Type", &p->text_type) &&
         Find(scope, "PyBytes_Type", &p->bytes_type) &&
         (Find(scope, "Py_IsFinalizing", &p->is_finalizing) || Find(scope, "_Py_IsFinalizing", &p->is_finalizing));
}

// nullptr if all is known, else what is not.
const char* Fill(void* scope, PythonLayout* p) {
  if (p->minor < 8 || p->minor > 14) return "its version is not known";
  if (!FindSymbols(scope, p)) return "it does not export what is needed";
  p->text_ascii = p->minor < 12 ? 48 : 40;
  p->text_wide = p->minor < 12 ? 72 : 56;
  if (p->minor >= 11) p->code_bytes = BasicSize(p->code_type);
  if (p->minor < 11) return SetFrames38(p);
  if (p->minor < 13) return SetFrames311(p);
  const char* runtime = nullptr;
  Find(scope, "_PyRuntime", &runtime);
  return SetFrames313(p, runtime);
}

}  // namespace

const PythonLayout* FindPython() noexcept {
  if (g_found.minor) return &g_found;
  void* scope = PythonScope();
  const char* (*version)() = nullptr;
  if (!Find(scope, "Py_GetVersion", &version)) return nullptr;
  PythonLayout p = {};
  const char* text = version();
  for (size_t i = 0; i + 1 < sizeof(p.version) && (text[i] == '.' || (text[i] >= '0' && text[i] <= '9')); ++i) {
    if (text[i] == '.' && i > 1) break;  // not the micro version
    p.version[i] = text[i];
  }
  p.minor = MinorVersion(text);
  p.why_not = Fill(scope, &p);
  g_found = p;
  return &g_found;
}

}  // namespace ddbg::shim
