#include "shim/mpi/pcontrol.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include <atomic>
#include <string_view>

#include "shim/interpose/real_function.h"
#include "shim/interpose/word.h"
#include "shim/marks/mark.h"
#include "shim/recorder/python/readable_memory.h"

namespace ddbg::shim::mpi {
namespace {

constinit std::atomic<void*> g_real[2] = {};  // MPI_Pcontrol, PMPI_Pcontrol
constinit std::atomic<void*> g_fortran[4] = {};
// This thread is in a call of Fortran's, which goes on to one of C's.
constinit thread_local bool g_noted [[gnu::tls_model("initial-exec")]] = false;

void* Real(bool profiling) {
  void* function = g_real[profiling].load(std::memory_order_relaxed);
  if (function) return function;
  function = RequireRealFunction(profiling ? "PMPI_Pcontrol" : "MPI_Pcontrol");
  g_real[profiling].store(function, std::memory_order_relaxed);
  return function;
}

uintptr_t ObjectOf(const void* address, std::string_view* path = nullptr) {
  Dl_info info = {};
  if (!dladdr(address, &info)) return 0;
  if (path && info.dli_fname) *path = info.dli_fname;
  return reinterpret_cast<uintptr_t>(info.dli_fbase);
}

// Who calls, by the return address.
enum class Caller : uintptr_t {
  kProgram,
  kBinding,  // MPI's own, of Fortran: there are no arguments after the level
  kTool,     // that stands behind us: it passes on what we have seen already
};

Caller LookAtCaller(const void* return_address, bool profiling) {
  std::string_view path;
  uintptr_t object = ObjectOf(return_address, &path);
  uintptr_t tool = profiling ? ObjectOf(Real(false)) : 0;
  if (profiling && object == tool && tool != ObjectOf(Real(true))) return Caller::kTool;
  std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libmpi") || name.starts_with("libpmpi") ? Caller::kBinding : Caller::kProgram;
}

// The few places of a program that call, so that the loader is asked once each. `address` holds the return address and,
// in its free upper bits, what was found there.
constexpr int kPlaceBits = 56;
constinit std::atomic<uintptr_t> g_places[64] = {};

Caller CallerAt(const void* return_address, bool profiling) {
  constexpr uintptr_t kMask = (uintptr_t{1} << kPlaceBits) - 1;
  uintptr_t address = reinterpret_cast<uintptr_t>(return_address) & kMask;
  std::atomic<uintptr_t>& place = g_places[(address ^ (address >> 6)) % std::size(g_places)];
  uintptr_t known = place.load(std::memory_order_relaxed);
  if ((known & kMask) == address) return static_cast<Caller>(known >> kPlaceBits);
  Caller caller = LookAtCaller(return_address, profiling);
  place.store(address | static_cast<uintptr_t>(caller) << kPlaceBits, std::memory_order_relaxed);
  return caller;
}

// Nothing tells whether the program has passed a label at all: what lies in its place may be anything. Only a short
// text of printable characters is taken for one, and only memory that can be read is looked at. 0: none.
uint32_t LabelBytes(const char* label) {
  uintptr_t address = reinterpret_cast<uintptr_t>(label);
  ReadableMemory memory = {};
  for (uint32_t i = 0; i <= marks::kMaxNameBytes; ++i) {
    if (!memory.Has(address + i, 1)) return 0;
    unsigned char c = static_cast<unsigned char>(label[i]);
    if (c == '\0') return i;
    if (c < ' ' || c == 0x7f) return 0;
  }
  return 0;
}

bool MayHaveLabel(int32_t level) { return level >= -1 && level <= 1; }

// What Fortran's compilers pass for a text: its bytes, without an end, and how many there are. By IPM's convention the
// program itself has ended it with a NUL.
uint32_t FortranLabelBytes(const char* label, uint64_t length) {
  if (length == 0 || length > marks::kMaxNameBytes + 1) return 0;
  ReadableMemory memory = {};
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < length; ++i) {
    if (!memory.Has(reinterpret_cast<uintptr_t>(label) + i, 1)) return 0;
    unsigned char c = static_cast<unsigned char>(label[i]);
    if (c == '\0') return bytes;
    if (c < ' ' || c == 0x7f) return 0;
    if (c != ' ') bytes = i + 1;
  }
  return bytes;
}

void Note(void* frame, int32_t level, const char* label, uint32_t bytes) {
  ThreadState* entered = Enter(frame);
  ThreadState* t = entered ? entered : Inside(frame);
  if (!t) return;
  int saved_errno = errno;
  Record mark = marks::NewMark(*t, MarkCall::MPI_Pcontrol);
  mark.tag = level;
  if (bytes) mark.aux = marks::NameId(*t, label, bytes);
  marks::Push(*t, mark);
  errno = saved_errno;
  if (entered) Leave(*t);
}

}  // namespace

void ForgetPcontrol() noexcept {
  for (auto& function : g_real) function.store(nullptr, std::memory_order_relaxed);
  for (auto& function : g_fortran) function.store(nullptr, std::memory_order_relaxed);
  for (auto& place : g_places) place.store(0, std::memory_order_relaxed);
}

}  // namespace ddbg::shim::mpi

using namespace ddbg::shim::mpi;
using ddbg::shim::RequireRealFunction;
using ddbg::shim::Word;

// From pcontrol.S; `frame`: of the wrapper itself, with the caller's frame pointer and the return address. Returns the
// function to go on to.
extern "C" [[gnu::visibility("hidden")]] void* ddbg_note_pcontrol(int level, const char* label, int profiling,
                                                                  void** frame) {
  void* real = Real(profiling != 0);
  Caller caller = CallerAt(frame[1], profiling != 0);
  if (caller == Caller::kTool || g_noted) return real;
  bool may_have_label = caller == Caller::kProgram && MayHaveLabel(level);
  Note(frame, level, label, may_have_label ? LabelBytes(label) : 0);
  return real;
}

// What Fortran calls by mpif.h, which lets a label through that MPI's own bindings drop; the module's interfaces have
// none. By the manglings that both MPIs have.
static Word Fortran(std::atomic<void*>* real, const char* name, void* frame, Word level, Word label, Word length,
                    Word d, Word e, Word f) {
  void* function = real->load(std::memory_order_relaxed);
  if (!function) {
    function = RequireRealFunction(name);
    real->store(function, std::memory_order_relaxed);
  }
  int32_t value = *reinterpret_cast<const int32_t*>(level);
  const char* text = reinterpret_cast<const char*>(label);
  Note(frame, value, text, MayHaveLabel(value) ? FortranLabelBytes(text, static_cast<uint64_t>(length)) : 0);
  g_noted = true;
  Word result = reinterpret_cast<Word (*)(Word, Word, Word, Word, Word, Word)>(function)(level, label, length, d, e, f);
  g_noted = false;
  return result;
}

// A call without a label leaves these registers as they are: it must not find those of the call before.
[[gnu::always_inline]] static inline Word AfterClearing(Word result) {
#if defined(__x86_64__)
  asm volatile("xorl %%esi, %%esi\n\txorl %%edx, %%edx" : "+r"(result)::"rsi", "rdx");
#else
  asm volatile("mov x1, xzr\n\tmov x2, xzr" : "+r"(result)::"x1", "x2");
#endif
  return result;
}

#define DDBG_FORTRAN(name, index)                                                                          \
  extern "C" [[gnu::visibility("default")]] Word name(Word a, Word b, Word c, Word d, Word e, Word f) {    \
    return AfterClearing(Fortran(&g_fortran[index], #name, __builtin_frame_address(0), a, b, c, d, e, f)); \
  }
DDBG_FORTRAN(mpi_pcontrol, 0)
DDBG_FORTRAN(mpi_pcontrol_, 1)
DDBG_FORTRAN(mpi_pcontrol__, 2)
DDBG_FORTRAN(MPI_PCONTROL, 3)
