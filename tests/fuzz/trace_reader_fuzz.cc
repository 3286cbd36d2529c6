// A trace file of any bytes is read to its end without a crash, within bounded memory, and nothing is left out in
// silence.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

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

#ifdef DDBG_LIBFUZZER
extern "C" size_t LLVMFuzzerMutate(uint8_t* bytes, size_t size, size_t max_size);

// A change that the checksum gives away is not read any further, so most are given a right one.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t size, size_t max_size, unsigned seed) {
  size = LLVMFuzzerMutate(bytes, size, max_size);
  if (seed % 8 == 0) return size;
  for (size_t at = sizeof(ddbg::TraceFileHeader); at + sizeof(ddbg::FrameHeader) <= size;) {
    ddbg::FrameHeader header;
    std::memcpy(&header, bytes + at, sizeof(header));
    if (!ddbg::FrameIsWhole(header, size - at)) break;
    header.pad = 0;
    header.crc = ddbg::FrameCrc(header, {reinterpret_cast<char*>(bytes + at + sizeof(header)), header.length});
    std::memcpy(bytes + at, &header, sizeof(header));
    at += sizeof(header) + header.length;
  }
  return size;
}
#endif
