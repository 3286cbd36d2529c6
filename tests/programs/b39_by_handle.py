"""Report B39: MPI as Julia, R and ctypes load it: b39_by_handle.py LIBRARY local|global, with functions fetched by name."""
import ctypes
import sys

mpi = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_LOCAL if sys.argv[2] == "local" else ctypes.RTLD_GLOBAL)
world = ctypes.c_int(0x44000000) if "mpich" in sys.argv[1] else ctypes.byref(ctypes.c_byte.in_dll(mpi, "ompi_mpi_comm_world"))
assert mpi.MPI_Init(None, None) == 0
assert mpi.MPI_Barrier(world) == 0
assert mpi.MPI_Finalize() == 0
print("done")
