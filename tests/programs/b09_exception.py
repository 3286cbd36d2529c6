"""Report B09: rank 0 alone raises; mpi4py then waits in MPI_Finalize at interpreter exit, the others in a barrier.

--healthy: nothing is raised.
"""
import sys

from mpi4py import MPI


def pack_initial_state(healthy):
    if not healthy:
        raise ValueError("cannot pack the initial state: no such species")


def main():
    world = MPI.COMM_WORLD
    world.Barrier()
    if world.Get_rank() == 0:
        pack_initial_state("--healthy" in sys.argv)
    world.Barrier()
    print("rank %d done" % world.Get_rank())


main()
