"""Training with DistributedDataParallel over gloo as many steps at a time as its standard input says, one number a line: a DataLoader, clipped
gradients, a loss that is read. Answers with the nanoseconds of each step on one line. torch_blocks.py FILE WIDTH BATCH; the ranks meet by FILE."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FILE, WIDTH, BATCH = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def batches(data):
    while True:
        yield from DataLoader(data, batch_size=BATCH)


def main():
    dist.init_process_group("gloo", init_method="file://" + FILE, rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = [nn.Linear(WIDTH, WIDTH) if even else nn.ReLU() for even in (True, False) * 4]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers, nn.Linear(WIDTH, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    source = batches(TensorDataset(torch.randn(64 * BATCH, WIDTH), torch.randn(64 * BATCH, 1)))
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter_ns()
            x, y = next(source)
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            loss.item()
            times.append(time.perf_counter_ns() - start)
        print(*times, flush=True)


main()
