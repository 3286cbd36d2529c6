/* Compiles only if shim/mpi/abi_values.h and mpich_types.def agree with the mpi.h it is compiled against. */
#include <mpi.h>
#include <stddef.h>

#include "shim/mpi/abi_values.h"

#define SAME(ours, theirs) _Static_assert((long)(ours) == (long)(theirs), #ours " is not " #theirs)

#if defined(OPEN_MPI)
SAME(DDBG_OMPI_ANY_SOURCE, MPI_ANY_SOURCE);
SAME(DDBG_OMPI_ANY_TAG, MPI_ANY_TAG);
SAME(DDBG_OMPI_TAG_UB, MPI_TAG_UB);
SAME(DDBG_OMPI_PROC_NULL, MPI_PROC_NULL);
SAME(DDBG_OMPI_ROOT, MPI_ROOT);
SAME(DDBG_OMPI_UNDEFINED, MPI_UNDEFINED);
SAME(DDBG_OMPI_LOCK_EXCLUSIVE, MPI_LOCK_EXCLUSIVE);
SAME(DDBG_OMPI_STATUS_BYTES, sizeof(MPI_Status));
SAME(DDBG_OMPI_SOURCE_OFFSET, offsetof(MPI_Status, MPI_SOURCE));
SAME(DDBG_OMPI_TAG_OFFSET, offsetof(MPI_Status, MPI_TAG));
_Static_assert(sizeof(MPI_Comm) == sizeof(void*), "handles are pointers");
int main(void) {
  return (long)MPI_IN_PLACE != DDBG_OMPI_IN_PLACE || (long)MPI_STATUS_IGNORE != DDBG_OMPI_STATUS_IGNORE ||
         (long)MPI_STATUSES_IGNORE != DDBG_OMPI_STATUS_IGNORE;
}
#else
SAME(DDBG_MPICH_COMM_WORLD, MPI_COMM_WORLD);
SAME(DDBG_MPICH_COMM_SELF, MPI_COMM_SELF);
SAME(DDBG_MPICH_COMM_NULL, MPI_COMM_NULL);
SAME(DDBG_MPICH_REQUEST_NULL, MPI_REQUEST_NULL);
SAME(DDBG_MPICH_DATATYPE_NULL, MPI_DATATYPE_NULL);
SAME(DDBG_MPICH_MESSAGE_NO_PROC, MPI_MESSAGE_NO_PROC);
SAME(DDBG_MPICH_ANY_SOURCE, MPI_ANY_SOURCE);
SAME(DDBG_MPICH_ANY_TAG, MPI_ANY_TAG);
SAME(DDBG_MPICH_TAG_UB, MPI_TAG_UB);
SAME(DDBG_MPICH_PROC_NULL, MPI_PROC_NULL);
SAME(DDBG_MPICH_ROOT, MPI_ROOT);
SAME(DDBG_MPICH_UNDEFINED, MPI_UNDEFINED);
SAME(DDBG_MPICH_LOCK_EXCLUSIVE, MPI_LOCK_EXCLUSIVE);
SAME(DDBG_MPICH_STATUS_BYTES, sizeof(MPI_Status));
SAME(DDBG_MPICH_SOURCE_OFFSET, offsetof(MPI_Status, MPI_SOURCE));
SAME(DDBG_MPICH_TAG_OFFSET, offsetof(MPI_Status, MPI_TAG));
_Static_assert(sizeof(MPI_Comm) == sizeof(int), "handles are ints");
#define DDBG_MPICH_TYPE(name, handle) _Static_assert((unsigned)(handle) == (unsigned)(name), #name);
#include "shim/mpi/mpich_types.def"
int main(void) {
  return (long)MPI_IN_PLACE != DDBG_MPICH_IN_PLACE || (long)MPI_STATUS_IGNORE != DDBG_MPICH_STATUS_IGNORE ||
         (long)MPI_STATUSES_IGNORE != DDBG_MPICH_STATUS_IGNORE;
}
#endif
