#include "shim/mpi/abi.h"

#include <string.h>

#include <initializer_list>

#include "proto/ring_layout.h"
#include "shim/interpose/real_function.h"
#include "shim/mpi/abi_values.h"

namespace ddbg::shim::mpi {

constinit Abi g_abi = {};
constinit Functions g_mpi = {};

namespace {

template <class F>
void Resolve(F& function, const char* name) {
  function = reinterpret_cast<F>(FindRealFunction(name));
}

void ResolveFunctions() {
#define DDBG_RESOLVE(name) Resolve(g_mpi.name, "PMPI_" #name)
  DDBG_RESOLVE(Initialized);
  DDBG_RESOLVE(Comm_rank);
  DDBG_RESOLVE(Comm_size);
  DDBG_RESOLVE(Comm_test_inter);
  DDBG_RESOLVE(Comm_remote_size);
  DDBG_RESOLVE(Comm_group);
  DDBG_RESOLVE(Comm_remote_group);
  DDBG_RESOLVE(Comm_get_attr);
  DDBG_RESOLVE(Comm_get_name);
  DDBG_RESOLVE(Group_size);
  DDBG_RESOLVE(Group_translate_ranks);
  DDBG_RESOLVE(Group_free);
  DDBG_RESOLVE(Group_rank);
  DDBG_RESOLVE(Group_from_session_pset);
  DDBG_RESOLVE(Comm_get_parent);
  DDBG_RESOLVE(Type_size);
  DDBG_RESOLVE(Type_get_name);
  DDBG_RESOLVE(Type_get_envelope);
  DDBG_RESOLVE(Type_get_envelope_c);
  DDBG_RESOLVE(Type_get_contents_c);
  DDBG_RESOLVE(Type_get_contents);
  DDBG_RESOLVE(Type_free);
  DDBG_RESOLVE(Get_library_version);
  DDBG_RESOLVE(Query_thread);
  DDBG_RESOLVE(Abi_get_version);
  DDBG_RESOLVE(Comm_f2c);
  DDBG_RESOLVE(Type_f2c);
  DDBG_RESOLVE(Op_f2c);
  DDBG_RESOLVE(Request_f2c);
  DDBG_RESOLVE(Message_f2c);
#undef DDBG_RESOLVE
}

// Handles are addresses. They are asked for by f2c: an executable may carry a copy relocation of the predefined
// objects, so that the library's own symbol has the wrong address (mpi.md 1.4).
Abi OpenMpi() {
  Abi abi;
  abi.family = Family::kOpenMpi;
  abi.name = "Open MPI";
  abi.comm_world = g_mpi.Comm_f2c(0);
  abi.comm_self = g_mpi.Comm_f2c(1);
  abi.comm_null = g_mpi.Comm_f2c(2);
  abi.request_null = g_mpi.Request_f2c ? g_mpi.Request_f2c(0) : 0;
  // What every small Isend gets back: one object for all of them, complete from the start (mpi.md 0.7).
  abi.request_empty = reinterpret_cast<Word>(FindRealFunction("ompi_request_empty"));
  abi.datatype_null = g_mpi.Type_f2c ? g_mpi.Type_f2c(0) : 0;
  abi.message_no_proc = g_mpi.Message_f2c ? g_mpi.Message_f2c(1) : 0;
  abi.in_place = DDBG_OMPI_IN_PLACE;
  abi.status_ignore = abi.statuses_ignore = DDBG_OMPI_STATUS_IGNORE;
  abi.any_source = DDBG_OMPI_ANY_SOURCE, abi.any_tag = DDBG_OMPI_ANY_TAG, abi.proc_null = DDBG_OMPI_PROC_NULL;
  abi.root = DDBG_OMPI_ROOT, abi.undefined = DDBG_OMPI_UNDEFINED;
  abi.lock_exclusive = DDBG_OMPI_LOCK_EXCLUSIVE, abi.mode_nocheck = DDBG_OMPI_MODE_NOCHECK;
  abi.tag_ub_key = DDBG_OMPI_TAG_UB;
  abi.status_bytes = DDBG_OMPI_STATUS_BYTES;
  abi.source_offset = DDBG_OMPI_SOURCE_OFFSET, abi.tag_offset = DDBG_OMPI_TAG_OFFSET;
  return abi;
}

Abi Mpich() {
  Abi abi;
  abi.family = Family::kMpich;
  abi.name = "MPICH";
  abi.narrow_handles = true;
  abi.comm_world = DDBG_MPICH_COMM_WORLD, abi.comm_self = DDBG_MPICH_COMM_SELF, abi.comm_null = DDBG_MPICH_COMM_NULL;
  abi.request_null = DDBG_MPICH_REQUEST_NULL, abi.datatype_null = DDBG_MPICH_DATATYPE_NULL;
  abi.message_no_proc = DDBG_MPICH_MESSAGE_NO_PROC;
  abi.in_place = DDBG_MPICH_IN_PLACE;
  abi.status_ignore = abi.statuses_ignore = DDBG_MPICH_STATUS_IGNORE;
  abi.any_source = DDBG_MPICH_ANY_SOURCE, abi.any_tag = DDBG_MPICH_ANY_TAG, abi.proc_null = DDBG_MPICH_PROC_NULL;
  abi.root = DDBG_MPICH_ROOT, abi.undefined = DDBG_MPICH_UNDEFINED;
  abi.lock_exclusive = DDBG_MPICH_LOCK_EXCLUSIVE, abi.mode_nocheck = DDBG_MPICH_MODE_NOCHECK;
  abi.tag_ub_key = DDBG_MPICH_TAG_UB;
  abi.status_bytes = DDBG_MPICH_STATUS_BYTES;
  abi.source_offset = DDBG_MPICH_SOURCE_OFFSET, abi.tag_offset = DDBG_MPICH_TAG_OFFSET;
  return abi;
}

// Handles of predefined objects are small numbers, the same in every library.
Abi Standard() {
  Abi abi;
  abi.family = Family::kStandard;
  abi.name = "MPI standard";
  abi.comm_world = DDBG_STANDARD_COMM_WORLD, abi.comm_self = DDBG_STANDARD_COMM_SELF;
  abi.comm_null = DDBG_STANDARD_COMM_NULL;
  abi.request_null = DDBG_STANDARD_REQUEST_NULL, abi.datatype_null = DDBG_STANDARD_DATATYPE_NULL;
  abi.message_no_proc = DDBG_STANDARD_MESSAGE_NO_PROC;
  abi.in_place = DDBG_STANDARD_IN_PLACE;
  abi.status_ignore = abi.statuses_ignore = DDBG_STANDARD_STATUS_IGNORE;
  abi.any_source = DDBG_STANDARD_ANY_SOURCE, abi.any_tag = DDBG_STANDARD_ANY_TAG;
  abi.proc_null = DDBG_STANDARD_PROC_NULL, abi.root = DDBG_STANDARD_ROOT, abi.undefined = DDBG_STANDARD_UNDEFINED;
  abi.lock_exclusive = DDBG_STANDARD_LOCK_EXCLUSIVE, abi.mode_nocheck = DDBG_STANDARD_MODE_NOCHECK;
  abi.status_bytes = DDBG_STANDARD_STATUS_BYTES;
  abi.source_offset = DDBG_STANDARD_SOURCE_OFFSET, abi.tag_offset = DDBG_STANDARD_TAG_OFFSET;
  return abi;
}

// Libraries of MPI 5's own ABI, which both have beside their native one, say so.
bool IsStandardAbi() {
  int major = -1, minor = -1;
  return g_mpi.Abi_get_version && g_mpi.Abi_get_version(Address(&major), Address(&minor)) == 0 && major > 0;
}

// By what it says of itself: function symbols tell nothing, since MPICH 4.2 has MPI_Comm_f2c as Open MPI does. A wrong
// answer would make us pass handles to the library that abort the job.
Family WhichFamily() {
  char text[8192] = "";  // MPI_MAX_LIBRARY_VERSION_STRING is 8192 at most
  int length = 0;
  if (!g_mpi.Get_library_version || g_mpi.Get_library_version(Address(text), Address(&length)) != 0) {
    // MPI 2: MPICH before 3.0 and Open MPI before 1.7.
    return FindRealFunction("ompi_mpi_comm_world") ? Family::kOpenMpi : Family::kUnknown;
  }
  if (IsStandardAbi()) return Family::kStandard;
  if (strstr(text, "Open MPI") || strstr(text, "Spectrum MPI"))
    return g_mpi.Comm_f2c ? Family::kOpenMpi : Family::kUnknown;
  // The MPICH ABI Compatibility Initiative: MPICH 3.1, Intel MPI 5.0, Cray MPT 7.0, MVAPICH2 2.0, ParaStation MPI 5.0.
  for (const char* name : {"MPICH", "MVAPICH", "Intel(R) MPI", "ParaStation"})
    if (strstr(text, name)) return Family::kMpich;
  return Family::kUnknown;
}

}  // namespace

bool Abi::BlamesArgument(int32_t error) const {
  // The classes from MPI_ERR_BUFFER on, up to MPI_ERR_ARG. MPICH's codes have the class in their last bits, and bit 30 if
  // the program made it.
  if (family != Family::kMpich) return error >= 1 && error <= 13;
  constexpr int32_t kClass = 0x7f, kOfProgram = 1 << 30;
  return error > 0 && !(error & kOfProgram) && (error & kClass) >= 1 && (error & kClass) <= 12;
}

int32_t Abi::Peer(Word word) const {
  int32_t peer = static_cast<int32_t>(word);
  if (peer >= 0) return peer;
  if (peer == any_source) return kAnySource;
  if (peer == proc_null) return kProcNull;
  if (peer == root) return kRootSelf;
  return peer;
}

int32_t Abi::Tag(Word word) const {
  int32_t tag = static_cast<int32_t>(word);
  return tag == any_tag ? kAnyTag : tag;
}

int32_t Abi::StatusSource(const void* status) const {
  return Peer(*reinterpret_cast<const int32_t*>(static_cast<const char*>(status) + source_offset));
}

int32_t Abi::StatusTag(const void* status) const {
  return Tag(*reinterpret_cast<const int32_t*>(static_cast<const char*>(status) + tag_offset));
}

int32_t Abi::ThreadLevel(int level) const {
  return family == Family::kStandard ? level / DDBG_STANDARD_THREAD_FUNNELED - (level > 2048) : level;
}

void DetectAbi() noexcept {
  g_abi = {};
  ResolveFunctions();
  if (!g_mpi.Comm_rank || !g_mpi.Comm_size) return;
  switch (WhichFamily()) {
    case Family::kOpenMpi: g_abi = OpenMpi(); break;
    case Family::kMpich: g_abi = Mpich(); break;
    case Family::kStandard: g_abi = Standard(); break;
    case Family::kUnknown: break;
  }
}

}  // namespace ddbg::shim::mpi
