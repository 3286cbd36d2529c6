"""Threads are inside MPI calls, without the interpreter's lock, while the main thread ends the interpreter."""
import ctypes
import sys
import threading
import time

library = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
mpi = ctypes.CDLL(None)
mpi.MPI_Init_thread(None, None, 3, ctypes.byref(ctypes.c_int()))
self_comm = (ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, "ompi_mpi_comm_self")))
             if "libmpi.so" in sys.argv[1] else ctypes.c_int(0x44000001))
rounds = [0] * 4


def call_for_ever(index):
    while True:
        mpi.MPI_Barrier(self_comm)
        rounds[index] += 1


for i in range(len(rounds)):
    threading.Thread(target=call_for_ever, args=(i,), daemon=True).start()
while min(rounds) < 2000:
    time.sleep(0.001)
print("ends", flush=True)
