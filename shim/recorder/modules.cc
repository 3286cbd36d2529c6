#include "shim/recorder/modules.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include <protozero/pbf_writer.hpp>

#include "shim/recorder/proc_files.h"

namespace ddbg::shim {
namespace {

// NT_GNU_BUILD_ID out of the loaded PT_NOTE segments.
std::string BuildId(const dl_phdr_info* info) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
    const char* end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const ElfW(Nhdr)* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      const char* name = at + sizeof(*note);
      const char* description = name + ((note->n_namesz + 3) & ~3u);
      if (description + note->n_descsz > end) break;
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(name, "GNU", 4))
        return std::string(description, note->n_descsz);
      at = description + ((note->n_descsz + 3) & ~3u);
    }
  }
  return "";
}

int AddModule(dl_phdr_info* info, size_t, void* modules_writer) {
  uint64_t low = ~uint64_t{0}, high = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    uint64_t start = info->dlpi_addr + header.p_vaddr;
    low = start < low ? start : low;
    high = start + header.p_memsz > high ? start + header.p_memsz : high;
  }
  if (high == 0) return 0;
  std::string path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : ReadLink("/proc/self/exe");
  protozero::pbf_writer module(*static_cast<protozero::pbf_writer*>(modules_writer), 1);
  module.add_string(1, path);
  module.add_uint64(2, info->dlpi_addr);
  module.add_uint64(3, low);
  module.add_uint64(4, high);
  module.add_bytes(5, BuildId(info));
  return 0;
}

int ReadVersion(dl_phdr_info* info, size_t, void* version) {
  *static_cast<uint64_t*>(version) = info->dlpi_adds + (static_cast<uint64_t>(info->dlpi_subs) << 32);
  return 1;
}

}  // namespace

uint64_t ModulesVersion() {
  uint64_t version = 0;
  dl_iterate_phdr(ReadVersion, &version);
  return version;
}

std::string EncodeModules() {
  std::string chunk;
  protozero::pbf_writer writer(chunk);
  {
    protozero::pbf_writer packet(writer, 1);
    protozero::pbf_writer modules(packet, 4);
    dl_iterate_phdr(AddModule, &modules);
  }
  return chunk;
}

}  // namespace ddbg::shim
