#include "shim/recorder/python/codes.h"

#include <string.h>

#include <protozero/basic_pbf_writer.hpp>
#include <protozero/buffer_fixed.hpp>

#include "shim/recorder/intern_table.h"
#include "shim/recorder/python/frames.h"

namespace ddbg::shim {
namespace {

using Writer = protozero::basic_pbf_writer<protozero::fixed_size_buffer_adaptor>;

constexpr uint32_t kCodes = 1 << 14, kTextBytes = 4 << 20;
constexpr int kMaxName = 256, kMaxFile = 1024;

constinit InternTable g_codes = {};

// As interned: the head, then the name, then the file.
struct Head {
  int32_t first_line;
  uint32_t name_bytes;
};

}  // namespace

bool StartPythonCodes() noexcept { return g_codes.Make(kCodes, kTextBytes); }

uint32_t InternPythonCode(const PythonLayout& p, ReadableMemory& memory, uintptr_t code) noexcept {
  PythonCodeTexts texts;
  if (!ReadCodeTexts(p, memory, code, &texts)) return 0;
  char bytes[sizeof(Head) + kMaxName + kMaxFile];
  char* name = bytes + sizeof(Head);
  int name_bytes = PythonText(p, memory, texts.name, name, kMaxName);
  if (name_bytes == 0) return 0;
  int file_bytes = PythonText(p, memory, texts.file, name + name_bytes, kMaxFile);
  Head head{texts.first_line, static_cast<uint32_t>(name_bytes)};
  memcpy(bytes, &head, sizeof(head));
  Interned* entry = g_codes.Find(bytes, static_cast<uint32_t>(sizeof(Head)) + name_bytes + file_bytes);
  return entry ? g_codes.IndexOf(*entry) + 1 : 0;
}

bool SendPythonCode(ThreadState& t, uint32_t id) noexcept {
  Interned& entry = g_codes.at(id - 1);
  if (entry.is_sent()) return true;
  Head head;
  const char* bytes = g_codes.Bytes(entry);
  memcpy(&head, bytes, sizeof(head));
  const char* name = bytes + sizeof(head);
  char message[kMaxName + kMaxFile + 64];
  protozero::fixed_size_buffer_adaptor buffer(message, sizeof(message));
  Writer definition(buffer);
  {
    Writer code(definition, 7);
    code.add_uint32(1, id);
    code.add_bytes(2, name, head.name_bytes);
    code.add_bytes(3, name + head.name_bytes, entry.size - sizeof(head) - head.name_bytes);
    code.add_sint32(4, head.first_line);
  }
  if (!PushDefinition(t, {buffer.data(), buffer.size()})) return false;
  entry.SetSent();
  return true;
}

}  // namespace ddbg::shim
