// mpi.h's functions. Messages to oneself are numbers in a queue; their data is not moved.
#include "mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKE(name, ...)                                                    \
  int MPI_##name(__VA_ARGS__) __attribute__((weak, alias("PMPI_" #name))); \
  int PMPI_##name(__VA_ARGS__)

enum { kSuccess = 0, kMost = 64 };

static int initialized, finalized, level;
static struct { int tag; } queue[kMost];
static int queued, posted_tag[kMost], posted;
static int comms, contiguous_count;
static char names[kMost][64];

#define NEW_COMM(i) FAKE_HANDLE(MPI_Comm, (0x1000 + 16 * (i)), new_comm)
#define NEW_REQUEST(i) FAKE_HANDLE(MPI_Request, (0x2000 + 16 * (i)), new_request)
#define CONTIGUOUS FAKE_HANDLE(MPI_Datatype, 0x3000, contiguous)
#define SOME_GROUP FAKE_HANDLE(MPI_Group, 0x3010, some_group)

#if defined(FAKE_OPEN_MPI)
char fake_objects[0x4000];
#define FAKE_F2C(name, type, ...)                                               \
  type PMPI_##name##_f2c(int i) {                                               \
    type list[] = {__VA_ARGS__};                                                \
    return i >= 0 && i < (int)(sizeof list / sizeof *list) ? list[i] : list[0]; \
  }
FAKE_F2C(Comm, MPI_Comm, MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_NULL)
FAKE_F2C(Request, MPI_Request, MPI_REQUEST_NULL)
FAKE_F2C(Type, MPI_Datatype, FAKE_HANDLE(MPI_Datatype, 0x200, null), MPI_INT, MPI_DOUBLE, MPI_INTEGER)
FAKE_F2C(Op, MPI_Op, FAKE_HANDLE(MPI_Op, 0x20, null), MPI_MAX, FAKE_HANDLE(MPI_Op, 0x22, min), MPI_SUM)
#endif

static int number(const char* name, int otherwise) {
  const char* text = getenv(name);
  return text ? atoi(text) : otherwise;
}

FAKE(Get_library_version, char* text, int* length) {
#if defined(FAKE_ODD)
  strcpy(text, "Oddball MPI 1.0");
#elif defined(FAKE_OPEN_MPI)
  strcpy(text, "Open MPI v6.0.0");
#else
  strcpy(text, "MPICH Version:      5.0.0");
#endif
  *length = (int)strlen(text);
  return kSuccess;
}

#if !defined(FAKE_ODD)
FAKE(Abi_get_version, int* major, int* minor) {
#if defined(FAKE_OPEN_MPI)
  *major = *minor = -1;
#else
  *major = 1, *minor = 0;
#endif
  return kSuccess;
}
#endif

FAKE(Init_thread, int* argc, char*** argv, int required, int* provided) {
  (void)argc, (void)argv;
  initialized = 1;
  *provided = level = required;
  return kSuccess;
}
FAKE(Initialized, int* flag) { return *flag = initialized, kSuccess; }
FAKE(Finalized, int* flag) { return *flag = finalized, kSuccess; }
FAKE(Finalize, void) { return finalized = 1, kSuccess; }
FAKE(Query_thread, int* provided) { return *provided = level, kSuccess; }

FAKE(Comm_rank, MPI_Comm comm, int* rank) {
  *rank = comm == MPI_COMM_SELF ? 0 : number("FAKE_RANK", 0);
  return kSuccess;
}
FAKE(Comm_size, MPI_Comm comm, int* size) {
  *size = comm == MPI_COMM_SELF ? 1 : number("FAKE_SIZE", 1);
  return kSuccess;
}
FAKE(Comm_test_inter, MPI_Comm comm, int* flag) { return (void)comm, *flag = 0, kSuccess; }
FAKE(Comm_group, MPI_Comm comm, MPI_Group* group) { return (void)comm, *group = SOME_GROUP, kSuccess; }
FAKE(Group_size, MPI_Group group, int* size) { return (void)group, *size = number("FAKE_SIZE", 1), kSuccess; }
FAKE(Group_translate_ranks, MPI_Group a, int n, const int* from, MPI_Group b, int* to) {
  (void)a, (void)b;
  memcpy(to, from, sizeof(int) * (size_t)n);
  return kSuccess;
}
FAKE(Group_free, MPI_Group* group) { return (void)group, kSuccess; }

static int index_of(MPI_Comm comm) {
  for (int i = 0; i < comms; ++i)
    if (comm == NEW_COMM(i)) return i;
  return kMost - 1;
}
FAKE(Comm_get_name, MPI_Comm comm, char* name, int* length) {
  strcpy(name, names[index_of(comm)]);
  return *length = (int)strlen(name), kSuccess;
}
FAKE(Comm_set_name, MPI_Comm comm, const char* name) {
  return snprintf(names[index_of(comm)], sizeof names[0], "%s", name), kSuccess;
}
FAKE(Comm_dup, MPI_Comm comm, MPI_Comm* copy) { return (void)comm, *copy = NEW_COMM(comms), ++comms, kSuccess; }
FAKE(Comm_free, MPI_Comm* comm) { return *comm = MPI_COMM_NULL, kSuccess; }

FAKE(Type_size, MPI_Datatype type, int* size) {
  *size = type == MPI_DOUBLE ? 8 : type == CONTIGUOUS ? 8 * contiguous_count : 4;
  return kSuccess;
}
FAKE(Type_get_name, MPI_Datatype type, char* name, int* length) {
  strcpy(name, type == MPI_DOUBLE    ? "MPI_DOUBLE"
               : type == MPI_INTEGER ? "MPI_INTEGER"
               : type == CONTIGUOUS  ? ""
                                     : "MPI_INT");
  return *length = (int)strlen(name), kSuccess;
}
FAKE(Type_contiguous, int count, MPI_Datatype type, MPI_Datatype* made) {
  return (void)type, contiguous_count = count, *made = CONTIGUOUS, kSuccess;
}
FAKE(Type_commit, MPI_Datatype* type) { return (void)type, kSuccess; }
FAKE(Type_free, MPI_Datatype* type) { return (void)type, kSuccess; }
FAKE(Type_get_envelope, MPI_Datatype type, int* integers, int* addresses, int* types, int* combiner) {
  *integers = *types = type == CONTIGUOUS;
  return *addresses = 0, *combiner = 103, kSuccess;
}
FAKE(Type_get_contents, MPI_Datatype type, int most_integers, int most_addresses, int most_types, int* integers,
     MPI_Aint* addresses, MPI_Datatype* types) {
  (void)type, (void)most_integers, (void)most_addresses, (void)most_types, (void)addresses;
  return integers[0] = contiguous_count, types[0] = MPI_DOUBLE, kSuccess;
}

FAKE(Barrier, MPI_Comm comm) { return (void)comm, kSuccess; }
FAKE(Allreduce, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return (void)in, (void)out, (void)count, (void)type, (void)op, (void)comm, kSuccess;
}
FAKE(Allreduce_c, const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return (void)in, (void)out, (void)count, (void)type, (void)op, (void)comm, kSuccess;
}
FAKE(Send, const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  (void)data, (void)count, (void)type, (void)to, (void)comm;
  if (to != MPI_PROC_NULL) queue[queued++ % kMost].tag = tag;
  return kSuccess;
}
static void take(MPI_Status* status) {
  if (queued == 0) abort();
  int tag = queue[0].tag;
  memmove(queue, queue + 1, sizeof queue - sizeof *queue);
  --queued;
  if (status) status->MPI_SOURCE = number("FAKE_RANK", 0), status->MPI_TAG = tag, status->MPI_ERROR = 0;
}
FAKE(Recv, void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  (void)data, (void)count, (void)type, (void)from, (void)tag, (void)comm;
  return take(status), kSuccess;
}
FAKE(Irecv, void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  (void)data, (void)count, (void)type, (void)from, (void)comm;
  posted_tag[posted] = tag;
  *request = NEW_REQUEST(posted);
  return ++posted, kSuccess;
}
FAKE(Wait, MPI_Request* request, MPI_Status* status) { return take(status), *request = MPI_REQUEST_NULL, kSuccess; }
