// What differs between the MPI families at the binary level, chosen at run time (mpi.md 1.1, 1.4), and the few MPI
// functions ddbg itself calls: local ones only, never a message.
#pragma once

#include <cstdint>

namespace ddbg::shim::mpi {

using Word = intptr_t;  // every argument and result: wide enough for any of them

enum class Family { kUnknown, kOpenMpi, kMpich, kStandard };  // kStandard: MPI 5

// Values as the host's mpi.h has them (abi_values.h).
struct Abi {
  Family family = Family::kUnknown;
  const char* name = "unknown";
  bool narrow_handles = false;  // handles are 32-bit ints
  Word comm_world = 0, comm_self = 0, comm_null = 0, request_null = 0, request_empty = 0, datatype_null = 0;
  Word message_no_proc = 0;
  Word in_place = 0, status_ignore = 0, statuses_ignore = 0;
  int32_t any_source = 0, proc_null = 0, root = 0, any_tag = 0, undefined = 0;
  int32_t lock_exclusive = 0, mode_nocheck = 0;
  int32_t tag_ub_key = -1;  // of the attribute MPI_TAG_UB; -1: not known
  uint32_t status_bytes = 0, source_offset = 0, tag_offset = 0;

  Word Handle(Word word) const { return narrow_handles ? static_cast<Word>(static_cast<uint32_t>(word)) : word; }
  Word ReadHandle(const void* at, int index = 0) const {
    return narrow_handles ? static_cast<Word>(static_cast<const uint32_t*>(at)[index])
                          : static_cast<const Word*>(at)[index];
  }
  int32_t Peer(Word word) const;  // with kAnySource, kProcNull, kRootSelf of ring_layout.h
  int32_t Tag(Word word) const;
  int32_t StatusSource(const void* status) const;
  int32_t StatusTag(const void* status) const;
  int32_t ThreadLevel(int level) const;  // 0 to 3
  // Does this error say that an argument is wrong? That is found before anything is sent.
  bool BlamesArgument(int32_t error) const;
};

extern Abi g_abi;  // family kUnknown until Detect

// Looks at which symbols the loaded MPI has. Callable before MPI_Init; handles are valid only after it.
void DetectAbi() noexcept;

// The functions ddbg calls, resolved once by DetectAbi; all word-typed like the wrappers. nullptr where missing.
struct Functions {
  Word (*Initialized)(Word flag);
  Word (*Comm_rank)(Word comm, Word rank);
  Word (*Comm_size)(Word comm, Word size);
  Word (*Comm_test_inter)(Word comm, Word flag);
  Word (*Comm_remote_size)(Word comm, Word size);
  Word (*Comm_group)(Word comm, Word group);
  Word (*Comm_remote_group)(Word comm, Word group);
  Word (*Comm_get_attr)(Word comm, Word key, Word value, Word found);
  Word (*Comm_get_name)(Word comm, Word name, Word length);
  Word (*Group_size)(Word group, Word size);
  Word (*Group_translate_ranks)(Word group1, Word n, Word ranks1, Word group2, Word ranks2);
  Word (*Group_free)(Word group);
  Word (*Group_rank)(Word group, Word rank);
  Word (*Group_from_session_pset)(Word session, Word name, Word group);
  Word (*Comm_get_parent)(Word comm);
  Word (*Type_size)(Word type, Word size);
  Word (*Type_get_name)(Word type, Word name, Word length);
  Word (*Type_get_envelope)(Word type, Word integers, Word addresses, Word types, Word combiner);
  // Of MPI 4: those without _c fail for types that were made by a function with _c.
  Word (*Type_get_envelope_c)(Word type, Word integers, Word addresses, Word counts, Word types, Word combiner);
  Word (*Type_get_contents_c)(Word type, Word max_integers, Word max_addresses, Word max_counts, Word max_types,
                              Word integers, Word addresses, Word counts, Word type_handles);
  Word (*Type_get_contents)(Word type, Word max_integers, Word max_addresses, Word max_types, Word integers,
                            Word addresses, Word types);
  Word (*Type_free)(Word type);
  Word (*Get_library_version)(Word text, Word length);
  Word (*Query_thread)(Word provided);
  Word (*Abi_get_version)(Word major, Word minor);  // MPI 5; may be called before MPI_Init, as the library's version
  Word (*Comm_f2c)(Word index);                     // used with Open MPI only, as the next four
  Word (*Type_f2c)(Word index);
  Word (*Op_f2c)(Word index);
  Word (*Request_f2c)(Word index);
  Word (*Message_f2c)(Word index);
};
extern Functions g_mpi;

template <class T>
Word Address(T* pointer) {
  return reinterpret_cast<Word>(pointer);
}

}  // namespace ddbg::shim::mpi
