#include "shim/mpi/datatypes.h"

#include <string.h>

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "shim/mpi/abi_values.h"
#include "shim/recorder/ids.h"

namespace ddbg::shim::mpi {
namespace {

constexpr int kMaxDepth = 16;
constexpr int64_t kMaxContents = 1 << 16;

// A flattened type: how much data, and what of.
struct Signature {
  uint64_t size = 0;
  std::string base;  // name of the one predefined type, "" if there are several
  uint64_t base_size = 0;
  uint64_t hash = 0;  // of the predefined types in order, once each run
  bool known = false;
};

uint64_t Mix(uint64_t h, uint64_t value) {
  h = (h ^ value) * 0x9fb21c651e98df25ull;
  return h ^ (h >> 31);
}

uint64_t HashText(const std::string& text) {
  uint64_t h = text.size();
  for (unsigned char c : text) h = Mix(h, c);
  return h;
}

std::string NameOf(Word handle) {
  char name[256] = "";
  int length = 0;
  if (g_mpi.Type_get_name(handle, Address(name), Address(&length))) return "";
  return name;
}

uint64_t SizeOf(Word handle) {
  int size = 0;
  return g_mpi.Type_size(handle, Address(&size)) == 0 && size > 0 ? static_cast<uint64_t>(size) : 0;
}

void Write(ThreadState& t, uint32_t id, const std::string& name, const Signature& signature) {
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer type(definition, 3);
    type.add_uint32(1, id);
    type.add_string(2, name);
    type.add_uint64(3, signature.size);
    type.add_string(4, signature.base);
    if (!signature.base.empty() && signature.base_size) type.add_uint64(5, signature.size / signature.base_size);
    type.add_fixed64(6, signature.hash);
  }
  PushDefinition(t, bytes);
}

uint32_t Register(Word handle) {
  uint32_t id = NextId(IdKind::kDatatype);
  g_tables->dtypes.Remove(static_cast<uint64_t>(handle));
  g_tables->dtypes.Insert(static_cast<uint64_t>(handle), Datatype{id});
  return id;
}

void AddPredefined(ThreadState& t, Word handle) {
  if (!handle || handle == g_abi.datatype_null || g_tables->dtypes.Find(static_cast<uint64_t>(handle))) return;
  Signature signature;
  signature.size = signature.base_size = SizeOf(handle);
  signature.base = NameOf(handle);
  if (signature.base.empty()) return;
  signature.hash = HashText(signature.base);
  Write(t, Register(handle), signature.base, signature);
}

Signature Flatten(Word handle, int depth);

struct Envelope {
  int64_t integers = 0, addresses = 0, counts = 0, types = 0;
};

bool HasLargeCounts() { return g_mpi.Type_get_envelope_c && g_mpi.Type_get_contents_c; }

// By MPI 4's functions where they are: the older ones end the job with an error on a type that has large counts.
bool Ask(Word handle, Envelope* envelope) {
  int combiner = 0;
  if (HasLargeCounts())
    return g_mpi.Type_get_envelope_c(handle, Address(&envelope->integers), Address(&envelope->addresses),
                                     Address(&envelope->counts), Address(&envelope->types), Address(&combiner)) == 0;
  int integers = 0, addresses = 0, types = 0;
  if (g_mpi.Type_get_envelope(handle, Address(&integers), Address(&addresses), Address(&types), Address(&combiner)))
    return false;
  *envelope = {integers, addresses, 0, types};
  return true;
}

// What a derived type is made of is asked of MPI itself; the combiner's meaning is not needed, since the size tells
// how many elements of a single base there are.
Signature FlattenContents(Word handle, const Envelope& envelope, int depth) {
  Signature signature;
  signature.size = SizeOf(handle);
  std::vector<int> integer_values(envelope.integers + 1);
  std::vector<Word> address_values(envelope.addresses + 1);
  std::vector<int64_t> count_values(envelope.counts + 1);
  std::vector<Word> type_words(envelope.types + 1);
  Word integers = Address(integer_values.data()), addresses = Address(address_values.data());
  Word counts = Address(count_values.data()), handles = Address(type_words.data());
  if (HasLargeCounts() ? g_mpi.Type_get_contents_c(handle, envelope.integers, envelope.addresses, envelope.counts,
                                                   envelope.types, integers, addresses, counts, handles)
                       : g_mpi.Type_get_contents(handle, envelope.integers, envelope.addresses, envelope.types,
                                                 integers, addresses, handles))
    return signature;
  signature.known = true;
  signature.hash = signature.size;
  for (int64_t i = 0; i < envelope.types; ++i) {
    Word part = g_abi.ReadHandle(type_words.data(), i);
    Signature inner = Flatten(part, depth + 1);
    signature.known = signature.known && inner.known;
    signature.hash = Mix(signature.hash, inner.hash);
    if (i == 0)
      signature.base = inner.base, signature.base_size = inner.base_size;
    else if (signature.base != inner.base)
      signature.base.clear();
    Envelope of_part;
    // What get_contents gave of derived types is ours to free.
    Ask(part, &of_part);
    if (of_part.types > 0) {
      Word copy = part;
      g_mpi.Type_free(Address(&copy));
    }
  }
  if (signature.base.empty()) {
    for (int value : integer_values) signature.hash = Mix(signature.hash, value);
    for (int64_t value : count_values)
      if (value) signature.hash = Mix(signature.hash, static_cast<uint64_t>(value));
  }
  return signature;
}

Signature Flatten(Word handle, int depth) {
  Signature signature;
  Envelope envelope;
  if (depth > kMaxDepth || !Ask(handle, &envelope)) return signature;
  if (envelope.types > 0) {
    if (std::max({envelope.integers, envelope.addresses, envelope.counts, envelope.types}) > kMaxContents)
      return signature;
    return FlattenContents(handle, envelope, depth);
  }
  signature.size = signature.base_size = SizeOf(handle);
  signature.base = NameOf(handle);
  signature.hash = HashText(signature.base);
  signature.known = true;
  return signature;
}

// MPICH has handles for these and no function that lists them.
constexpr uint32_t kMpichTypes[] = {
#define DDBG_MPICH_TYPE(name, handle) handle,
#include "shim/mpi/mpich_types.def"
#undef DDBG_MPICH_TYPE
};

constexpr int kOpenMpiTypes = 73;  // Fortran indices of mpif-handles.h

}  // namespace

void AddPredefinedTypes(ThreadState& t) noexcept {
  if (!g_mpi.Type_get_name || !g_mpi.Type_size) return;
  if (g_abi.family == Family::kMpich)
    for (uint32_t handle : kMpichTypes) AddPredefined(t, static_cast<Word>(handle));
  if (g_abi.family == Family::kOpenMpi && g_mpi.Type_f2c)
    for (int i = 1; i < kOpenMpiTypes; ++i) AddPredefined(t, g_mpi.Type_f2c(i));
}

uint32_t UnseenTypeId(Word handle) noexcept {
  bool standard = g_abi.family == Family::kStandard && handle > DDBG_STANDARD_DATATYPE_NULL &&
                  handle <= DDBG_STANDARD_LAST_PREDEFINED;
  if (!standard || !g_mpi.Type_get_name || !g_mpi.Type_size) return 0;
  AddPredefined(g_thread, handle);
  Datatype* type = g_tables->dtypes.Find(static_cast<uint64_t>(handle));
  return type ? type->id : 0;
}

void AddDerivedType(ThreadState& t, Word handle) noexcept {
  if (!g_mpi.Type_get_envelope || !g_mpi.Type_get_contents || g_tables->dtypes.Find(static_cast<uint64_t>(handle)))
    return;
  Signature signature = Flatten(handle, 0);
  if (!signature.known) signature.base.clear(), signature.hash = 0;
  Write(t, Register(handle), NameOf(handle), signature);
}

void RemoveType(Word handle) noexcept { g_tables->dtypes.Remove(static_cast<uint64_t>(handle)); }

}  // namespace ddbg::shim::mpi
