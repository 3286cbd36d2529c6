#include "analyzer/stacks/symbolize.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <unordered_map>

#include "analyzer/model/demangle.h"
#include "analyzer/model/module_role.h"

namespace ddbg::analyzer {

struct Symbolizer::CodeFile {
  Dwfl* dwfl = nullptr;
  Dwfl_Module* module = nullptr;                            // nullptr: module and offset are all there is
  std::unordered_map<uint64_t, std::vector<Frame>> frames;  // by virtual address in the file
  ~CodeFile() {
    if (dwfl) dwfl_end(dwfl);
  }
};

namespace {

int FindNoElf(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) { return -1; }

const Dwfl_Callbacks kCallbacks = {
    .find_elf = FindNoElf,  // the file is always given
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};

struct FreeDeleter {
  void operator()(void* p) const { free(p); }
};
// An array that libdw allocated for the caller.
using Scopes = std::unique_ptr<Dwarf_Die[], FreeDeleter>;

// Reports the file at virtual address 0, so that addresses in Dwfl are those of the file.
Dwfl_Module* ReportFile(Dwfl* dwfl, const std::string& path, int* fd_or_error) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    *fd_or_error = -errno;
    return nullptr;
  }
  dwfl_report_begin(dwfl);
  Dwfl_Module* module = dwfl_report_elf(dwfl, path.c_str(), path.c_str(), fd, 0, true);  // takes fd if it succeeds
  dwfl_report_end(dwfl, nullptr, nullptr);
  if (!module) {
    close(fd);
    *fd_or_error = -ENOEXEC;
  }
  return module;
}

std::string BuildIdOf(Dwfl_Module* module) {
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module, &bias);
  const void* bytes = nullptr;
  ssize_t size = elf ? dwelf_elf_gnu_build_id(elf, &bytes) : -1;
  return size > 0 ? std::string(static_cast<const char*>(bytes), size) : std::string();
}

// Of the symbol table; "" if there is none around the address.
std::string SymbolAt(Dwfl_Module* module, Dwarf_Addr address) {
  GElf_Off offset = 0;
  GElf_Sym symbol;
  const char* name = dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
  return name ? name : "";
}

std::string NameOfFunction(Dwfl_Module* module, Dwarf_Die* die, Dwarf_Addr address) {
  Dwarf_Attribute attribute;
  for (unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    const char* text = dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
    if (text) return Demangle(text);
  }
  // Functions local to a file have their class or namespace only in the symbol table.
  bool inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;
  std::string symbol = inlined ? std::string() : SymbolAt(module, address);
  const char* text = dwarf_diename(die);
  return symbol.starts_with("_Z") || !text ? Demangle(symbol.c_str()) : text;
}

// gcc writes .debug_aranges, which finds the compilation unit at once; clang does not, so the units are walked.
Dwarf_Die* FindUnit(Dwfl_Module* module, Dwarf_Addr address, Dwarf_Addr* bias) {
  if (Dwarf_Die* unit = dwfl_module_addrdie(module, address, bias)) return unit;
  Dwarf_Die* unit = nullptr;
  while ((unit = dwfl_module_nextcu(module, unit, bias)) != nullptr) {
    if (dwarf_haspc(unit, address - *bias) > 0) return unit;
  }
  return nullptr;
}

// The entries around an address, innermost first, as nested in the source (inlined functions within their callers).
int FindScopes(Dwfl_Module* module, Dwarf_Die* unit, Dwarf_Addr pc, Scopes* scopes) {
  Dwarf_Die* found = nullptr;
  int count = dwarf_getscopes(unit, pc, &found);
  scopes->reset(found);
  if (count <= 0) return count;
  // dwarf_getscopes leaves the caller chain at the innermost inlined function for that function's own scopes.
  Dwarf_Addr bias = 0;
  Dwarf_Die innermost;
  if (!dwarf_offdie(dwfl_module_getdwarf(module, &bias), dwarf_dieoffset(&found[0]), &innermost)) return -1;
  Dwarf_Die* chain = nullptr;
  count = dwarf_getscopes_die(&innermost, &chain);
  scopes->reset(chain);
  return count;
}

bool IsFunction(Dwarf_Die* die) {
  int tag = dwarf_tag(die);
  return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram || tag == DW_TAG_entry_point;
}

// Where an inlined function was called: the line of the frame around it.
void ReadCallSite(Dwarf_Die* unit, Dwarf_Die* inlined, Frame* caller) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &value) == 0 &&
      dwarf_getsrcfiles(unit, &files, &count) == 0 && value < count) {
    const char* name = dwarf_filesrc(files, value, nullptr, nullptr);
    caller->file = name ? name : "";
  }
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &value) == 0) {
    caller->line = static_cast<int>(value);
  }
}

void ReadLine(Dwarf_Die* unit, Dwarf_Addr pc, Frame* frame) {
  Dwarf_Line* line = dwarf_getsrc_die(unit, pc);
  const char* file = line ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
  if (!file) return;
  frame->file = file;
  dwarf_lineno(line, &frame->line);
}

std::vector<Frame> ReadDebugInformation(Dwfl_Module* module, Dwarf_Addr address) {
  std::vector<Frame> frames;
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = FindUnit(module, address, &bias);
  if (!unit) return frames;
  Scopes scopes;
  int count = FindScopes(module, unit, address - bias, &scopes);
  Frame frame;
  ReadLine(unit, address - bias, &frame);
  for (int i = 0; i < count; ++i) {
    if (!IsFunction(&scopes[i])) continue;
    frame.function = NameOfFunction(module, &scopes[i], address);
    frame.inlined = dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine;
    bool outermost = !frame.inlined;
    frames.push_back(std::move(frame));
    if (outermost) break;
    frame = Frame{};
    ReadCallSite(unit, &scopes[i], &frame);
  }
  if (frames.empty() && frame.line > 0)
    frames.push_back(std::move(frame));  // lines, but no function: -gline-tables-only
  return frames;
}

std::vector<Frame> ReadFrames(Dwfl_Module* module, Dwarf_Addr address) {
  std::vector<Frame> frames = ReadDebugInformation(module, address);
  if (frames.empty()) frames.emplace_back();
  if (frames.back().function.empty()) frames.back().function = Demangle(SymbolAt(module, address).c_str());
  return frames;
}

// `size` bytes of the code at a virtual address; false if the file has none there.
bool ReadCode(Dwfl_Module* module, uint64_t virtual_address, void* out, size_t size) {
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module, &bias);
  size_t segments = 0;
  if (!elf || elf_getphdrnum(elf, &segments) != 0) return false;
  for (size_t i = 0; i < segments; ++i) {
    GElf_Phdr segment;
    if (!gelf_getphdr(elf, static_cast<int>(i), &segment) || segment.p_type != PT_LOAD) continue;
    uint64_t into = virtual_address - segment.p_vaddr;
    if (virtual_address < segment.p_vaddr || into + size > segment.p_filesz) continue;
    Elf_Data* data = elf_getdata_rawchunk(elf, static_cast<int64_t>(segment.p_offset + into), size, ELF_T_BYTE);
    if (!data || data->d_size != size) return false;
    memcpy(out, data->d_buf, size);
    return true;
  }
  return false;
}

// Where a direct call goes that returns to this virtual address; 0 if it is none.
uint64_t CallTarget(Dwfl_Module* module, uint64_t return_address) {
#if defined(__x86_64__)
  unsigned char code[5];  // e8, then the distance from the return address
  if (!ReadCode(module, return_address - sizeof(code), code, sizeof(code)) || code[0] != 0xe8) return 0;
  int32_t distance;
  memcpy(&distance, code + 1, sizeof(distance));
  return return_address + static_cast<uint64_t>(int64_t{distance});
#elif defined(__aarch64__)
  uint32_t code;  // bl, with the distance from itself in words
  if (!ReadCode(module, return_address - sizeof(code), &code, sizeof(code)) || code >> 26 != 0x25) return 0;
  int64_t words = static_cast<int32_t>(code << 6) >> 6;
  return return_address - sizeof(code) + static_cast<uint64_t>(words * 4);
#else
  (void)module;
  (void)return_address;
  return 0;
#endif
}

std::string Hex(const std::string& bytes) {
  std::string text;
  for (unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// The path to open. A library may have been loaded by a relative one; the kernel's own page has no file ("").
std::string FileOf(const Process& process, const Module& module) {
  if (module.path.find('/') == module.path.npos) return "";
  return module.path[0] == '/' ? module.path : process.cwd + "/" + module.path;
}

}  // namespace

Symbolizer::Symbolizer() {
  // libdwfl's standard search ends with a debuginfod query, which could wait for a server that does not answer.
  unsetenv("DEBUGINFOD_URLS");
}

Symbolizer::~Symbolizer() = default;

Symbolizer::CodeFile* Symbolizer::Open(const Process& process, const Module& module) {
  std::string path = FileOf(process, module);
  std::unique_ptr<CodeFile>& slot = files_[{path, module.build_id}];
  if (slot) return slot.get();
  slot = std::make_unique<CodeFile>();
  if (path.empty()) return slot.get();
  slot->dwfl = dwfl_begin(&kCallbacks);
  int error = 0;
  Dwfl_Module* opened = slot->dwfl ? ReportFile(slot->dwfl, path, &error) : nullptr;
  if (!opened) {
    caveats_.push_back(fmt::format("{} cannot be read here ({}): its functions are shown as offsets", path,
                                   strerror(error ? -error : ENOMEM)));
    return slot.get();
  }
  std::string build_id = BuildIdOf(opened);
  if (!module.build_id.empty() && build_id != module.build_id) {
    caveats_.push_back(fmt::format(
        "{} is not the file that ran (build-id {} here, {} in the trace): its functions are shown as offsets", path,
        build_id.empty() ? "none" : Hex(build_id), Hex(module.build_id)));
    return slot.get();
  }
  slot->module = opened;
  return slot.get();
}

std::vector<Frame> Symbolizer::Resolve(const Process& process, uint64_t return_address) {
  uint64_t address = return_address - 1;
  const Module* module = FindModule(process, address);
  if (!module) {
    Frame unknown;
    unknown.address = return_address;
    return {unknown};
  }
  CodeFile* file = Open(process, *module);
  uint64_t virtual_address = address - module->bias;
  auto [entry, fresh] = file->frames.try_emplace(virtual_address);
  if (fresh) {
    entry->second = file->module ? ReadFrames(file->module, virtual_address) : std::vector<Frame>(1);
    for (Frame& frame : entry->second) {
      frame.module = BaseName(module->path);
      frame.offset = virtual_address;
    }
  }
  std::vector<Frame> frames = entry->second;
  for (Frame& frame : frames) frame.address = return_address;
  return frames;
}

std::string Symbolizer::FunctionCalledBefore(const Process& process, uint64_t return_address) {
  const Module* module = FindModule(process, return_address - 1);
  CodeFile* file = module ? Open(process, *module) : nullptr;
  uint64_t target = file && file->module ? CallTarget(file->module, return_address - module->bias) : 0;
  return target ? Demangle(SymbolAt(file->module, target).c_str()) : std::string();
}

std::vector<Frame> Symbolizer::ResolveStack(const Process& process, uint32_t stack_id) {
  std::vector<Frame> frames;
  auto stack = process.stacks_by_id.find(stack_id);
  if (stack == process.stacks_by_id.end()) return frames;
  const std::vector<uint64_t>& addresses = stack->second;
  for (size_t i = 0; i < addresses.size(); ++i) {
    for (Frame& frame : Resolve(process, addresses[i])) frames.push_back(std::move(frame));
    Frame& function = frames.back();  // the one that is not inlined
    if (function.function.empty() && i + 1 < addresses.size()) {
      function.function = FunctionCalledBefore(process, addresses[i + 1]);
    }
  }
  return frames;
}

}  // namespace ddbg::analyzer
