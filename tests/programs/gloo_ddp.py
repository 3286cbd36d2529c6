"""Data-parallel training on CPUs over gloo. RANK and WORLD_SIZE say who; --store is a file by which the ranks meet.
   --batches N, and of one rank --bad-rank R --bad-batches M; --timeout S; --groups: odd and even ranks average once each
   --raise R,R --raise-step S: these ranks raise in this step; --linger: in a process that lives on; --catch: caught"""
import argparse
import datetime
import os
import threading

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--store")
parser.add_argument("--batches", type=int, default=6)
parser.add_argument("--bad-rank", type=int, default=-1)
parser.add_argument("--bad-batches", type=int, default=7)
parser.add_argument("--timeout", type=float, default=600)
parser.add_argument("--groups", action="store_true")
parser.add_argument("--raise", dest="raising", type=lambda text: [int(rank) for rank in text.split(",")], default=[])
parser.add_argument("--raise-step", type=int, default=3)
parser.add_argument("--linger", action="store_true")
parser.add_argument("--catch", action="store_true")
options = parser.parse_args()


def load_sample(rank, step):
    if rank in options.raising and step == options.raise_step:
        raise ValueError("sample %d of rank %d has no label" % (step, rank))  # mark: raise
    return torch.full((3, 4), float(rank + step))


def next_batch(rank, step):
    try:
        return load_sample(rank, step)
    except ValueError:
        if options.catch:
            return torch.zeros(3, 4)
        if options.linger:
            threading.Thread(target=threading.Event().wait).start()
        raise


def train_one_step(model, optimizer, batch):
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()  # mark: backward
    optimizer.step()
    return float(loss)


def end_of_epoch():
    dist.barrier()  # mark: end of epoch


def main():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", init_method="file://" + options.store, rank=rank, world_size=size,
                            timeout=datetime.timedelta(seconds=options.timeout))
    torch.manual_seed(7)
    torch.set_num_threads(1)
    model = DistributedDataParallel(torch.nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = options.bad_batches if rank == options.bad_rank else options.batches
    losses = [train_one_step(model, optimizer, next_batch(rank, step)) for step in range(batches)]
    if options.groups:
        groups = [dist.new_group(list(range(parity, size, 2))) for parity in (0, 1)]
        dist.all_reduce(torch.ones(5), group=groups[rank % 2])
    end_of_epoch()
    print("rank", rank, ["%.6f" % loss for loss in losses])
    dist.destroy_process_group()


main()
