// A double of an MPI library in one of three interfaces: the standard ABI of MPI 5 (its numbers are the standard's),
// with -DFAKE_OPEN_MPI the one of Open MPI (handles are addresses), with -DFAKE_ODD one of no known family. Each
// process is a rank of its own by FAKE_RANK and FAKE_SIZE, and talks to itself only.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Count;

#if defined(FAKE_ODD)
typedef short MPI_Comm, MPI_Datatype, MPI_Op, MPI_Request, MPI_Group;
#define FAKE_HANDLE(type, number, name) ((type)(number ^ 0x2bad))
#elif defined(FAKE_OPEN_MPI)
typedef struct fake_object* MPI_Comm;
typedef struct fake_object *MPI_Datatype, *MPI_Op, *MPI_Request, *MPI_Group;
extern char fake_objects[0x4000];
#define FAKE_HANDLE(type, number, name) ((type)(fake_objects + number))
#else
typedef struct fake_comm* MPI_Comm;
typedef struct fake_type* MPI_Datatype;
typedef struct fake_op* MPI_Op;
typedef struct fake_request* MPI_Request;
typedef struct fake_group* MPI_Group;
#define FAKE_HANDLE(type, number, name) ((type)(intptr_t)(number))
#endif

#if defined(FAKE_OPEN_MPI)
typedef struct {
  int MPI_SOURCE, MPI_TAG, MPI_ERROR, cancelled;
  size_t count;
} MPI_Status;
enum { MPI_ANY_SOURCE = -1, MPI_ANY_TAG = -1, MPI_PROC_NULL = -2, MPI_THREAD_MULTIPLE = 3 };
#else
typedef struct {
  int MPI_SOURCE, MPI_TAG, MPI_ERROR, internal[5];
} MPI_Status;
enum { MPI_ANY_SOURCE = -1, MPI_ANY_TAG = -2, MPI_PROC_NULL = -3, MPI_THREAD_MULTIPLE = 4096 };
#endif

#define MPI_COMM_NULL FAKE_HANDLE(MPI_Comm, 0x100, comm_null)
#define MPI_COMM_WORLD FAKE_HANDLE(MPI_Comm, 0x101, comm_world)
#define MPI_COMM_SELF FAKE_HANDLE(MPI_Comm, 0x102, comm_self)
#define MPI_REQUEST_NULL FAKE_HANDLE(MPI_Request, 0x180, request_null)
#define MPI_INT FAKE_HANDLE(MPI_Datatype, 0x209, int)
#define MPI_DOUBLE FAKE_HANDLE(MPI_Datatype, 0x214, double)
#define MPI_INTEGER FAKE_HANDLE(MPI_Datatype, 0x219, integer)
#define MPI_SUM FAKE_HANDLE(MPI_Op, 0x21, sum)
#define MPI_MAX FAKE_HANDLE(MPI_Op, 0x23, max)
#define MPI_STATUS_IGNORE ((MPI_Status*)0)
#define MPI_IN_PLACE ((void*)1)

#define FAKE_DECLARE(name, ...) int MPI_##name(__VA_ARGS__), PMPI_##name(__VA_ARGS__);
FAKE_DECLARE(Init_thread, int*, char***, int, int*)
FAKE_DECLARE(Initialized, int*)
FAKE_DECLARE(Finalized, int*)
FAKE_DECLARE(Finalize, void)
FAKE_DECLARE(Query_thread, int*)
FAKE_DECLARE(Get_library_version, char*, int*)
FAKE_DECLARE(Abi_get_version, int*, int*)
FAKE_DECLARE(Comm_rank, MPI_Comm, int*)
FAKE_DECLARE(Comm_size, MPI_Comm, int*)
FAKE_DECLARE(Comm_test_inter, MPI_Comm, int*)
FAKE_DECLARE(Comm_group, MPI_Comm, MPI_Group*)
FAKE_DECLARE(Comm_get_name, MPI_Comm, char*, int*)
FAKE_DECLARE(Comm_set_name, MPI_Comm, const char*)
FAKE_DECLARE(Comm_dup, MPI_Comm, MPI_Comm*)
FAKE_DECLARE(Comm_free, MPI_Comm*)
FAKE_DECLARE(Group_size, MPI_Group, int*)
FAKE_DECLARE(Group_translate_ranks, MPI_Group, int, const int*, MPI_Group, int*)
FAKE_DECLARE(Group_free, MPI_Group*)
FAKE_DECLARE(Type_size, MPI_Datatype, int*)
FAKE_DECLARE(Type_get_name, MPI_Datatype, char*, int*)
FAKE_DECLARE(Type_contiguous, int, MPI_Datatype, MPI_Datatype*)
FAKE_DECLARE(Type_commit, MPI_Datatype*)
FAKE_DECLARE(Type_free, MPI_Datatype*)
FAKE_DECLARE(Type_get_envelope, MPI_Datatype, int*, int*, int*, int*)
FAKE_DECLARE(Type_get_contents, MPI_Datatype, int, int, int, int*, MPI_Aint*, MPI_Datatype*)
FAKE_DECLARE(Barrier, MPI_Comm)
FAKE_DECLARE(Allreduce, const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm)
FAKE_DECLARE(Allreduce_c, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
FAKE_DECLARE(Send, const void*, int, MPI_Datatype, int, int, MPI_Comm)
FAKE_DECLARE(Recv, void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*)
FAKE_DECLARE(Irecv, void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
FAKE_DECLARE(Wait, MPI_Request*, MPI_Status*)
