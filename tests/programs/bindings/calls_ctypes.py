"""The calls of calls.c by ctypes: calls_ctypes.py LIBRARY. Open MPI's handles are addresses of its objects, MPICH's are numbers."""
import ctypes
import sys

mpi = ctypes.CDLL(sys.argv[1], mode=ctypes.DEFAULT_MODE)
integer, address = ctypes.c_int, ctypes.c_void_p
if "libmpich" in sys.argv[1]:
    Handle = integer
    WORLD, INT, DOUBLE, SUM = (Handle(value) for value in (0x44000000, 0x4c000405, 0x4c00080b, 0x58000003))
    IGNORE = address(1)
else:
    Handle = address
    WORLD, INT, DOUBLE, SUM = (address(ctypes.addressof(integer.in_dll(mpi, "ompi_mpi_" + name)))
                               for name in ("comm_world", "int", "double", "op_sum"))
    IGNORE = address(0)
number = integer()
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(WORLD, ctypes.byref(number))
rank = number.value
mpi.MPI_Comm_size(WORLD, ctypes.byref(number))
size = number.value
right, left = (rank + 1) % size, (rank + size - 1) % size
one, two = (integer * 4)(1, 2, 3, 4), (integer * 4)()
given, out = (ctypes.c_double * 2)(1, 2), (ctypes.c_double * 2)()
requests = (Handle * 2)()
copy, half, three = Handle(), Handle(), Handle()
mpi.MPI_Barrier(WORLD)  # mark: barrier
mpi.MPI_Bcast(one, 3, INT, 1, WORLD)
mpi.MPI_Allreduce(given, out, 2, DOUBLE, SUM, WORLD)
mpi.MPI_Irecv(two, 4, INT, left, 11, WORLD, ctypes.byref(requests, 0))
mpi.MPI_Isend(one, 4, INT, right, 11, WORLD, ctypes.byref(requests, ctypes.sizeof(Handle)))
mpi.MPI_Waitall(2, requests, IGNORE)
mpi.MPI_Comm_dup(WORLD, ctypes.byref(copy))
mpi.MPI_Comm_split(WORLD, rank % 2, rank, ctypes.byref(half))
mpi.MPI_Type_contiguous(3, INT, ctypes.byref(three))
mpi.MPI_Type_commit(ctypes.byref(three))
mpi.MPI_Sendrecv(one, 1, three, right, 12, two, 1, three, left, 12, copy, IGNORE)
mpi.MPI_Barrier(half)
mpi.MPI_Type_free(ctypes.byref(three))
mpi.MPI_Comm_free(ctypes.byref(half))
mpi.MPI_Comm_free(ctypes.byref(copy))
mpi.MPI_Finalize()
sys.stdout.write("rank %d of %d: %g %d\n" % (rank, size, out[1], two[2]))  # in one piece
