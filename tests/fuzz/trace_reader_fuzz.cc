// libFuzzer entry: a trace file of any bytes is read to its end without a crash, within bounded memory.
// Build it with clang++ -I. -fsanitize=fuzzer,address,undefined, proto/trace_reader.cc, proto/crc32c.cc and -lzstd.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "proto/trace_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  int fd = memfd_create("trace", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes, size) != static_cast<ssize_t>(size)) abort();
  ddbg::Result<ddbg::TraceReader> reader = ddbg::TraceReader::FromFd(fd, "input");
  if (!reader) return 0;
  ddbg::TraceChunk chunk;
  uint64_t sum = 0;
  while (reader->Next(&chunk)) {
    for (char byte : chunk.bytes) sum += static_cast<unsigned char>(byte);
  }
  bool read_all = reader->position() == size;
  if (!read_all && reader->Damage().empty()) abort();  // bytes were left out in silence
  return sum == UINT64_MAX ? 1 : 0;
}
