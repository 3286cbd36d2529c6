"""Trains a model with three ranks on this machine's CPU, over gloo. They share the rows of the data by hand, and rank 0 gets a batch more than the
others: the job hangs until gloo gives up after 20 seconds. With --even it ends well.

    LD_PRELOAD=build/install/lib/libddbg.so python3 examples/uneven_batches.py
    LD_PRELOAD=build/install/lib/libddbg.so torchrun --nproc-per-node 3 examples/uneven_batches.py     the same
"""
import datetime
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ROWS, BATCH, WORLD = 96 if "--even" in sys.argv else 97, 8, 3


def train_one_epoch(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def end_epoch(rank):
    dist.barrier()
    print("rank %d has trained\n" % rank, end="", flush=True)  # in one write


def main(rank, world, meeting):
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=world, timeout=datetime.timedelta(seconds=20))
    torch.set_num_threads(1)
    own = len(range(rank, ROWS, world))  # of 97 rows 33 on rank 0: a fifth batch, of one row
    data = TensorDataset(torch.randn(own, 16), torch.randn(own, 1))
    train_one_epoch(nn.parallel.DistributedDataParallel(nn.Linear(16, 1)), DataLoader(data, batch_size=BATCH))
    end_epoch(rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:  # torchrun
        main(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), "env://")
    else:
        with tempfile.TemporaryDirectory() as folder:
            mp.spawn(main, args=(WORLD, "file://%s/meeting" % folder), nprocs=WORLD)
