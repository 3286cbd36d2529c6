"""Public failure reports, re-told with PyTorch over gloo: torch_reports.py CASE WORD…, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.

    store=FILE            the ranks meet by this file, not by the environment
    timeout=600           of the process group, in seconds
    healthy               the twin without the fault

    batches               rank 0 has one batch more, then a barrier (pytorch#33148)
    preprocess            rank 0 works for work=S seconds before it comes to the barrier (LlamaFactory#2424)
    storage               from step 15 on each batch of rank 2 takes 200 ms (horovod#824)
    same-seed             all ranks draw the same records; reduced: the losses are averaged before they are read; constant: they
                          never change; alone: nothing is averaged; by-hand: without a DataLoader (horovod#173)
    checkpoint=FILE       the last rank does not find it: how=missing looks before it reads, how=fails catches the exception,
                          how=one only rank 0 reads; twin=broadcast: all get what rank 0 read (detectron2#1732)
    meet                  init_process_group, and a collective (pytorch#23074, gloo#223)
    file-exists=FILE      who sees it broadcasts; the last rank looks elsewhere (KempnerForge#49)
    evaluate              rank 0 evaluates through DistributedDataParallel, with batch norm (pytorch#54059)
    dtype                 rank 0 broadcasts 6 floats, the others take 3 64-bit integers (pytorch#91535)
    helper                rank 1 forks a child that outlives the job; it ends when release=FILE is there (horovod#1102)
"""
import datetime
import multiprocessing
import os
import sys
import time
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

warnings.simplefilter("ignore")
case, _, path = sys.argv[1].partition("=")
words = dict(word.partition("=")[::2] for word in sys.argv[2:])
healthy = "healthy" in words
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
last = size - 1


class Records(Dataset):
    """`batches` of 4 records; from batch `slow` on each takes a while to read."""

    def __init__(self, batches, slow=None, seed=0):
        self.batches, self.slow = batches, slow
        generator = torch.Generator().manual_seed(seed)
        self.records = torch.randn(4 * batches, 32, generator=generator)

    def __len__(self):
        return 4 * self.batches

    def __getitem__(self, index):
        if self.slow is not None and index >= 4 * self.slow:
            time.sleep(0.05)  # a slow mount
        return self.records[index]


def new_model():
    return nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 4))


def train_one_step(model, optimizer, batch):
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    return loss


def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0 if "constant" in words else 0.05)
    losses = []
    for batch in loader:
        loss = train_one_step(model, optimizer, batch)
        if "reduced" in words:
            dist.all_reduce(loss.detach())
        losses.append(loss.item())
    return losses


def batches():
    count = 6 if healthy or rank else 7
    train(DistributedDataParallel(new_model()), DataLoader(Records(count, seed=rank), batch_size=4))
    end_of_epoch()


def end_of_epoch():
    dist.barrier()


def tokenize(seconds):
    end, tokens = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        tokens += len("some words of a large text".split())
    return tokens


def preprocess():
    if rank == 0:
        tokenize(float(words["work"]))
    dist.barrier()  # mark: after preprocessing
    dist.barrier()


def storage():
    slow = 15 if rank == 2 and not healthy else None
    train(DistributedDataParallel(new_model()), DataLoader(Records(40, slow, seed=rank), batch_size=4))


def same_seed():
    torch.manual_seed(4321)
    model = new_model()
    if "alone" not in words:
        model = DistributedDataParallel(model)
    data = Records(16, seed=0)
    if "constant" in words:
        data.records[:] = data.records[0]
    sampler = torch.utils.data.distributed.DistributedSampler(data) if healthy else None
    loader = DataLoader(data, batch_size=4, shuffle=sampler is None, sampler=sampler)
    train(model, [batch.clone() for batch in data.records.split(4)] if "by-hand" in words else loader)


def checkpoint():
    saved = new_model()
    with torch.no_grad():
        for parameter in saved.parameters():
            parameter.fill_(0.05)
    if rank == 0:
        torch.save(saved.state_dict(), path)
    dist.barrier()
    model = new_model()
    twin = words.get("twin")
    if twin != "broadcast":
        model = DistributedDataParallel(model)
    resume(model.module if hasattr(model, "module") else model)
    if twin == "broadcast":
        model = DistributedDataParallel(model)
    print(train(model, DataLoader(Records(4, seed=rank), batch_size=4)))


def resume(model):
    how = words.get("how", "missing")
    if how == "one" and rank and not healthy:
        return
    place = path + ".elsewhere" if rank == last and how != "one" and not healthy else path
    if how == "fails":
        try:
            model.load_state_dict(torch.load(place))
        except OSError as error:
            print("no checkpoint:", error)
    elif os.path.exists(place):
        model.load_state_dict(torch.load(place))


def meet():
    dist.all_reduce(torch.ones(4))


def file_exists():
    if rank == 0:
        with open(path, "w") as file:
            file.write("1")
    dist.barrier()
    place = path + ".elsewhere" if rank == last and not healthy else path
    if os.path.exists(place):
        share_settings()
    dist.barrier()  # mark: all


def share_settings():
    dist.broadcast(torch.ones(3), 0)  # mark: settings


def dtype():
    values = torch.ones(6) if rank == 0 or healthy else torch.zeros(3, dtype=torch.int64)
    dist.broadcast(values, 0)  # mark: typed
    dist.barrier()


def evaluate_model(model, loader):
    model.eval()
    with torch.no_grad():
        total = sum(model(batch).sum().item() for batch in loader)  # mark: evaluation
    model.train()
    return total


def evaluate():
    model = DistributedDataParallel(nn.Sequential(nn.Linear(32, 8), nn.BatchNorm1d(8)))
    train(model, DataLoader(Records(3, seed=rank), batch_size=4))
    if rank == 0:
        evaluate_model(model.module if healthy else model, DataLoader(Records(1), batch_size=4))
    dist.barrier()  # mark: evaluated


def wait_for_release():
    while not os.path.exists(words["release"]):
        time.sleep(0.05)


def helper():
    train(DistributedDataParallel(new_model()), DataLoader(Records(3, seed=rank), batch_size=4))
    child = None
    if rank == 1:
        child = multiprocessing.get_context("fork").Process(target=wait_for_release)
        child.start()
        if healthy:
            child.terminate()
            child.join()
    dist.barrier()


def main():
    if "store" in words:
        where = dict(init_method="file://" + words["store"], rank=rank, world_size=size)
    else:
        where = dict(init_method="env://")
    torch.manual_seed(rank)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=float(words.get("timeout", 600))), **where)
    globals()[case.replace("-", "_")]()
    dist.destroy_process_group()
    print("rank", rank, "done")


main()
