"""What an MPI call costs from Python, some functions deep: "MPI_NAME ns" a line, the fastest of many rounds each."""
import sys
import time

from mpi4py import MPI

WORLD = MPI.COMM_WORLD
CALLS = {"MPI_Barrier": WORLD.Barrier, "MPI_Iprobe": WORLD.Iprobe}
ROUNDS, CALLS_A_ROUND = 200, 200


def fastest(call):
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(CALLS_A_ROUND):
            call()
        best = min(best, time.perf_counter() - begin)
    return best / CALLS_A_ROUND * 1e9


def at_depth(depth, call):
    return at_depth(depth - 1, call) if depth else fastest(call)


for name, call in CALLS.items():
    print("%s %.1f" % (name, at_depth(int(sys.argv[1]) - 3, call)))
