"""torch.multiprocessing.spawn: the parent is no rank, the children have their rank by an argument only."""
import ctypes
import os
import sys
import tempfile

import torch.distributed as dist
import torch.multiprocessing


def main(rank, world, meeting):
    dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=world)
    ddbg = ctypes.CDLL(None)
    if hasattr(ddbg, "ddbg_step"):
        ddbg.ddbg_step(ctypes.c_int64(1))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.start_processes(main, args=(2, os.path.join(folder, "meeting")), nprocs=2,
                                              start_method=sys.argv[1])
