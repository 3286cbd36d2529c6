#include "shim/marks/nvtx/names.h"

#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#include <atomic>
#include <new>

namespace ddbg::shim::nvtx {
namespace {

constexpr uint32_t kVariants = 1 << 12, kShapes = 1 << 10;  // powers of two
constexpr uint32_t kMostTries = 16;
constexpr uint32_t kMostKept = 1 << 12;

struct Shape {
  std::atomic<uint64_t> hash{0};
  std::atomic<uint32_t> variants{0};
};

constinit std::atomic<uint64_t> g_variants[kVariants] = {};
constinit Shape g_shapes[kShapes] = {};
constinit std::atomic<Name*> g_kept{nullptr};
constinit std::atomic<uint32_t> g_kept_count{0};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// FNV-1a; never 0.
uint64_t Hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash | 1;
}

// Each run of digits is one "#". False: there are none.
bool WithoutNumbers(const Name& name, Name* shape) {
  bool any = false;
  shape->length = 0;
  for (uint32_t i = 0; i < name.length; ++i) {
    bool digit = IsDigit(name.text[i]);
    any |= digit;
    if (digit && i > 0 && IsDigit(name.text[i - 1])) continue;
    shape->text[shape->length++] = digit ? '#' : name.text[i];
  }
  shape->text[shape->length] = '\0';
  return any;
}

// The entry of `hash`, made if it is not there; nullptr: no room near its place.
template <class Entry, class HashOf>
Entry* Find(Entry* table, uint32_t size, uint64_t hash, HashOf hash_of, bool make) {
  for (uint32_t i = 0; i < kMostTries; ++i) {
    Entry& entry = table[(hash + i) & (size - 1)];
    std::atomic<uint64_t>& place = hash_of(entry);
    uint64_t there = place.load(std::memory_order_relaxed);
    if (there == 0 && (!make || place.compare_exchange_strong(there, hash, std::memory_order_relaxed)))
      return make ? &entry : nullptr;
    if (there == hash) return &entry;
  }
  return nullptr;
}

void AppendUtf8(uint32_t point, Name* name) {
  char bytes[4];
  size_t count = 0;
  if (point < 0x80) {
    bytes[count++] = static_cast<char>(point);
  } else if (point < 0x800) {
    bytes[count++] = static_cast<char>(0xc0 | point >> 6);
  } else if (point < 0x10000) {
    bytes[count++] = static_cast<char>(0xe0 | point >> 12);
    bytes[count++] = static_cast<char>(0x80 | (point >> 6 & 0x3f));
  } else if (point < 0x110000) {
    bytes[count++] = static_cast<char>(0xf0 | point >> 18);
    bytes[count++] = static_cast<char>(0x80 | (point >> 12 & 0x3f));
    bytes[count++] = static_cast<char>(0x80 | (point >> 6 & 0x3f));
  } else {
    bytes[count++] = '?';
  }
  if (point >= 0x80 && point < 0x110000) bytes[count++] = static_cast<char>(0x80 | (point & 0x3f));
  if (name->length + count > kMostNameBytes) return;
  memcpy(name->text + name->length, bytes, count);
  name->length += static_cast<uint32_t>(count);
}

// Several threads may be the first.
Name* Pool() {
  Name* pool = g_kept.load(std::memory_order_acquire);
  if (pool) return pool;
  void* memory = mmap(nullptr, kMostKept * sizeof(Name), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (g_kept.compare_exchange_strong(pool, static_cast<Name*>(memory), std::memory_order_acq_rel))
    return static_cast<Name*>(memory);
  munmap(memory, kMostKept * sizeof(Name));
  return pool;
}

}  // namespace

void Set(const char* from, Name* name) noexcept {
  name->length = from ? static_cast<uint32_t>(strnlen(from, kMostNameBytes)) : 0;
  if (from) memcpy(name->text, from, name->length);
  name->text[name->length] = '\0';
}

void Set(const wchar_t* from, Name* name) noexcept {
  name->length = 0;
  for (size_t i = 0; from && from[i] && i < kMostNameBytes; ++i) AppendUtf8(static_cast<uint32_t>(from[i]), name);
  name->text[name->length] = '\0';
}

bool IsLibraryDomain(std::string_view domain) noexcept {
  for (const char* library :
       {"NCCL",      "CCCL",   "CUB",      "Thrust",  "cuBLAS", "cuBLASLt", "cuDNN", "cuFFT", "cuSPARSE",
        "cuSOLVER",  "cuRAND", "cuTENSOR", "NVSHMEM", "UCX",    "UCP",      "UCT",   "UCXX",  "libcudf",
        "libkvikio", "DALI",   "TensorRT", "CUTLASS", "OpenMP", "OpenACC",  "MPI"})
    if (domain.size() == strlen(library) && !strncasecmp(domain.data(), library, domain.size())) return true;
  return false;
}

void Bound(Name* name) noexcept {
  Name shape;
  if (!WithoutNumbers(*name, &shape)) return;
  auto itself = [](std::atomic<uint64_t>& hash) -> std::atomic<uint64_t>& { return hash; };
  uint64_t own = Hash(name->view());
  if (Find(g_variants, kVariants, own, itself, false)) return;
  auto hash_of = [](Shape& entry) -> std::atomic<uint64_t>& { return entry.hash; };
  Shape* counted = Find(g_shapes, kShapes, Hash(shape.view()), hash_of, true);
  bool has_room = counted && counted->variants.load(std::memory_order_relaxed) < kMostVariants;
  if (has_room && Find(g_variants, kVariants, own, itself, true)) {
    counted->variants.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  *name = shape;
}

const Name* Keep(const Name& name) noexcept {
  Name* pool = Pool();
  if (!pool || g_kept_count.load(std::memory_order_relaxed) >= kMostKept) return nullptr;
  uint32_t at = g_kept_count.fetch_add(1, std::memory_order_relaxed);
  return at < kMostKept ? new (pool + at) Name(name) : nullptr;
}

}  // namespace ddbg::shim::nvtx
