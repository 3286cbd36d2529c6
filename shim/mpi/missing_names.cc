// Names that this library exports and the loaded MPI lacks: MPI_Allreduce_c under Open MPI 4, say. A program that asks
// by a weak reference whether it has a function must get the answer it would get without us, so such names are taken
// out of our own symbol table before the program is bound.
//
// When: the dynamic linker relocates libraries in the reverse order of loading, so that an MPI comes before us and the
// program after us, and the resolver of an indirect function runs as the last part of our own relocation (glibc's
// elf/do-rel.h puts IRELATIVE off to the end). A constructor would be too late.
// How: the linker passes over a symbol whose value is 0 (check_match in glibc's elf/dl-lookup.c).
//
// Whatever is not as expected ends it, and the names stay. So they do where no MPI is loaded with the program (Python
// loads it later): nothing is bound by them that would not fail without us.
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

bool Equal(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

bool IsMpiName(const char* name) {
  if (*name == 'P') ++name;
  return name[0] == 'M' && name[1] == 'P' && name[2] == 'I' && name[3] == '_';
}

// The symbols that an object defines, by its DT_GNU_HASH.
class Symbols {
 public:
  Symbols() = default;
  Symbols(const ElfW(Dyn) * dynamic, uintptr_t base) {
    if (!dynamic) return;
    const uint32_t* hash = nullptr;
    for (; dynamic->d_tag != DT_NULL; ++dynamic) {
      // glibc adds the base to these in place, but for objects it may not write to.
      uintptr_t address = dynamic->d_un.d_ptr < base ? dynamic->d_un.d_ptr + base : dynamic->d_un.d_ptr;
      if (dynamic->d_tag == DT_SYMTAB) table_ = reinterpret_cast<ElfW(Sym)*>(address);
      if (dynamic->d_tag == DT_STRTAB) names_ = reinterpret_cast<const char*>(address);
      if (dynamic->d_tag == DT_GNU_HASH) hash = reinterpret_cast<const uint32_t*>(address);
    }
    if (!table_ || !names_ || !hash || hash[0] == 0 || hash[2] == 0) return;
    buckets_ = hash[0];
    first_ = hash[1];
    bloom_words_ = hash[2];
    bloom_shift_ = hash[3];
    bloom_ = reinterpret_cast<const ElfW(Addr)*>(hash + 4);
    bucket_ = reinterpret_cast<const uint32_t*>(bloom_ + bloom_words_);
    chain_ = bucket_ + buckets_;
  }

  bool Defines(const char* name, uint32_t hash) const {
    if (!bucket_) return false;
    constexpr uint32_t kBits = 8 * sizeof(ElfW(Addr));
    ElfW(Addr) word = bloom_[(hash / kBits) % bloom_words_];
    if (!(word >> (hash % kBits) & word >> ((hash >> bloom_shift_) % kBits) & 1)) return false;
    uint32_t i = bucket_[hash % buckets_];
    if (i < first_) return false;
    for (;; ++i) {
      uint32_t in_chain = chain_[i - first_];
      if ((in_chain | 1) == (hash | 1) && IsDefined(table_[i]) && Equal(names_ + table_[i].st_name, name)) return true;
      if (in_chain & 1) return false;
    }
  }

  template <class Visit>
  void ForEachDefined(Visit visit) const {
    if (!bucket_) return;
    for (uint32_t b = 0; b < buckets_; ++b) {
      uint32_t i = bucket_[b];
      if (i < first_) continue;
      for (;; ++i) {
        if (IsDefined(table_[i])) visit(table_[i], names_ + table_[i].st_name);
        if (chain_[i - first_] & 1) break;
      }
    }
  }

 private:
  static bool IsDefined(const ElfW(Sym) & symbol) { return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0; }

  ElfW(Sym) * table_ = nullptr;
  const char* names_ = nullptr;
  uint32_t buckets_ = 0, first_ = 0, bloom_words_ = 0, bloom_shift_ = 0;
  const ElfW(Addr) * bloom_ = nullptr;
  const uint32_t *bucket_ = nullptr, *chain_ = nullptr;
};

uint32_t HashOf(const char* name) {
  uint32_t hash = 5381;
  for (; *name; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// All other objects, those of an MPI first.
class Others {
 public:
  Others() {
    constexpr char kInit[] = "PMPI_Init";
    uint32_t hash = HashOf(kInit);
    for (const link_map* object = _r_debug.r_map; object; object = object->l_next) {
      if (object->l_ld == _DYNAMIC) continue;
      if (count_ == kMost) {
        mpis_ = 0;  // too many to know
        return;
      }
      Symbols symbols(object->l_ld, object->l_addr);
      objects_[count_++] = symbols;
      if (!symbols.Defines(kInit, hash)) continue;
      objects_[count_ - 1] = objects_[mpis_];
      objects_[mpis_++] = symbols;
    }
  }
  bool HaveMpi() const { return mpis_ > 0; }
  bool Define(const char* name) const {
    uint32_t hash = HashOf(name);
    for (int i = 0; i < count_; ++i)
      if (objects_[i].Defines(name, hash)) return true;
    return false;
  }

 private:
  static constexpr int kMost = 512;
  Symbols objects_[kMost];
  int count_ = 0, mpis_ = 0;
};

const link_map* Own() {
  for (const link_map* object = _r_debug.r_map; object; object = object->l_next)
    if (object->l_ld == _DYNAMIC) return object;
  return nullptr;
}

// From `first` to `last`, both of them in it.
bool Protect(ElfW(Sym) * first, ElfW(Sym) * last, int protection) {
  uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  uintptr_t begin = reinterpret_cast<uintptr_t>(first) & ~(page - 1);
  return mprotect(reinterpret_cast<void*>(begin), reinterpret_cast<uintptr_t>(last + 1) - begin, protection) == 0;
}

void HideMissingNames() {
  constexpr int kMost = 2048;
  ElfW(Sym) * missing[kMost];
  int count = 0;
  const link_map* own = _r_debug.r_version >= 1 ? Own() : nullptr;
  if (!own) return;
  Others others;
  if (!others.HaveMpi()) return;
  Symbols(_DYNAMIC, own->l_addr).ForEachDefined([&](ElfW(Sym) & symbol, const char* name) {
    if (count < kMost && IsMpiName(name) && !others.Define(name)) missing[count++] = &symbol;
  });
  if (count == 0) return;
  ElfW(Sym)* first = missing[0], *last = missing[0];
  for (int i = 1; i < count; ++i) {
    if (missing[i] < first) first = missing[i];
    if (missing[i] > last) last = missing[i];
  }
  if (!Protect(first, last, PROT_READ | PROT_WRITE)) return;
  for (int i = 0; i < count; ++i) missing[i]->st_value = 0;
  Protect(first, last, PROT_READ);
}

}  // namespace

extern "C" {

static void Nothing() {}

// Called by the dynamic linker. Only what is in this file, in libc and in the linker may be used.
__attribute__((used)) static void (*ddbg_before_program_is_bound())() {
  HideMissingNames();
  return Nothing;
}

static void ddbg_indirect() __attribute__((ifunc("ddbg_before_program_is_bound")));

// Makes the linker keep the relocation.
__attribute__((used, retain, visibility("hidden"))) void (*volatile ddbg_indirect_address)() = ddbg_indirect;
}
