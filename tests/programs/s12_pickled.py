"""Report S12: mpi4py's irecv of a pickled object has a buffer of 32768 bytes unless it is given one.
    s12_pickled.py COUNT [own-buffer]     rank 0 sends a list of so many doubles to rank 1"""
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
count = int(sys.argv[1])
if world.rank == 0:
    world.send([1.0 / (i + 1) for i in range(count)], dest=1, tag=4)  # mark: send
elif world.rank == 1:
    buffer = bytearray(1 << 20) if "own-buffer" in sys.argv else None
    request = world.irecv(buffer, source=0, tag=4)  # mark: irecv
    print(len(request.wait()))  # mark: wait
