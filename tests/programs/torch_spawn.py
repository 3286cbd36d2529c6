"""Two ranks of torch.multiprocessing.start_processes over gloo: torch_spawn.py METHOD FILE [raise]. Each trains with DistributedDataParallel and a
DataLoader with a worker of the same method; a third group holds rank 1 alone. raise: rank 1 raises after its training."""
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, TensorDataset

METHOD, FILE, *WORDS = sys.argv[1:]


def rank(number):
    torch.manual_seed(0)
    dist.init_process_group("gloo", init_method="file://" + FILE, rank=number, world_size=2)
    dist.new_group([1])
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.arange(32.0).reshape(8, 4) / 32)
    for (x,) in DataLoader(data, batch_size=2, num_workers=1, multiprocessing_context=METHOD):
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if WORDS and number == 1:
        raise ValueError("rank 1 has no more")  # mark: raise
    print("rank %d: %.6f\n" % (number, loss.item()), end="", flush=True)  # in one piece, whatever PYTHONUNBUFFERED says
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.start_processes(rank, nprocs=2, start_method=METHOD)
