"""The calls of calls.c by mpi4py."""
import sys
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
right, left = (rank + 1) % size, (rank + size - 1) % size
one, two = array("i", [1, 2, 3, 4]), array("i", [0] * 4)
given, out = array("d", [1, 2]), array("d", [0, 0])
world.Barrier()  # mark: barrier
world.Bcast([one, 3, MPI.INT], root=1)
world.Allreduce([given, 2, MPI.DOUBLE], [out, 2, MPI.DOUBLE], op=MPI.SUM)
requests = [world.Irecv([two, 4, MPI.INT], source=left, tag=11), world.Isend([one, 4, MPI.INT], dest=right, tag=11)]
MPI.Request.Waitall(requests)
copy = world.Dup()
half = world.Split(rank % 2, rank)
three = MPI.INT.Create_contiguous(3).Commit()
copy.Sendrecv([one, 1, three], right, 12, [two, 1, three], left, 12)
half.Barrier()
three.Free()
half.Free()
copy.Free()
MPI.Finalize()
sys.stdout.write("rank %d of %d: %g %d\n" % (rank, size, out[1], two[2]))  # in one piece
