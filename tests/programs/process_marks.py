"""Ranks that a program makes of itself by multiprocessing, as torch.multiprocessing.spawn does:
process_marks.py METHOD env|arguments FILE. They end once FILE is there. With `env` each child sets RANK and WORLD_SIZE, as PyTorch's own examples do."""
import ctypes
import multiprocessing
import os
import sys
import time


def main(rank, world, how):
    if how == "env":
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="localhost", MASTER_PORT="29500")
    ctypes.CDLL(None).ddbg_step(ctypes.c_int64(1))
    while not os.path.exists(sys.argv[3]):
        time.sleep(0.02)


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    children = [context.Process(target=main, args=(rank, 2, sys.argv[2])) for rank in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    sys.exit(max(child.exitcode for child in children))
