"""Data-parallel training as people write it, with all that goes with it: torch_matrix.py WORD…

    backend=gloo             or mpi, nccl
    meet=FILE                ranks meet by this file, as RANK and WORLD_SIZE say; else by MASTER_ADDR
    spawn=METHOD             two ranks of torch.multiprocessing
    rank=R                   of two, by argument only
    wrap=ddp                 or fsdp (FullyShardedDataParallel), fully_shard (its second version)
    steps=6                  batches of a pass over the data; epochs=1
    workers=0 start=fork     of the DataLoader
    stream                   an IterableDataset
    clip                     gradient norms
    scaler=STEP              a GradScaler, which finds an infinite gradient in this step
    save=FILE                rank 0 saves after each third step; all ranks read it again when they begin, if it is there
    dcp=FOLDER               torch.distributed.checkpoint at the end, and reads it again
    raise=STEP               rank 1 raises in this step of the first attempt
Each rank prints its losses and norms. On the doubles of CUDA kernels compute nothing: there it prints how many there were.
"""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

words = dict(word.partition("=")[::2] for word in sys.argv[1:])
CUDA = words.get("backend") == "nccl"


def row(index):
    if get_worker_info() is not None:  # work that would be a step if a worker were a rank
        (torch.ones(1, requires_grad=True) * index).backward()
    return torch.full((4,), index / 10.0), torch.tensor([index / 20.0])


class Squares(Dataset):
    def __init__(self, rank, size):
        self.first, self.rows = rank, 8 * int(words.get("steps", 6))
        self.stride = size

    def __len__(self):
        return self.rows

    def __getitem__(self, index):
        return row(self.first + index * self.stride)


class Stream(IterableDataset):
    def __init__(self, squares):
        self.squares = squares

    def __iter__(self):
        return (self.squares[index] for index in range(len(self.squares)))


def loader(rank, size):
    data = Squares(rank, size)
    workers = int(words.get("workers", 0))
    return DataLoader(Stream(data) if "stream" in words else data, batch_size=8, num_workers=workers,
                      multiprocessing_context=words.get("start", "fork") if workers else None)


def wrapped(model):
    kind = words.get("wrap", "ddp")
    if kind == "fsdp":
        from torch.distributed.fsdp import FullyShardedDataParallel
        return FullyShardedDataParallel(model, device_id=torch.cuda.current_device() if CUDA else torch.device("cpu"))
    if kind == "fully_shard":
        from torch.distributed.fsdp import fully_shard
        for layer in model:
            if isinstance(layer, nn.Linear):
                fully_shard(layer)
        return fully_shard(model)
    return nn.parallel.DistributedDataParallel(model)


def plant_infinity(scaler, optimizer, there):
    """Kernels of the doubles look for none."""
    scaler.unscale_(optimizer)
    found = scaler._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
    for device in found:
        found[device] = torch.tensor([float(there)]).to(device)


def with_distributed_checkpoint(model, folder):
    import torch.distributed.checkpoint as checkpoint
    state = {"model": model.state_dict()}
    checkpoint.save(state, checkpoint_id=folder)
    checkpoint.load(state, checkpoint_id=folder)


def train(rank, size):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    if os.path.exists(words.get("save", "")):
        model.load_state_dict(torch.load(words["save"]))
    model = wrapped(model.cuda() if CUDA else model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cuda" if CUDA else "cpu") if "scaler" in words else None
    attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
    told, step = [], 0
    for _ in range(int(words.get("epochs", 1))):
        for x, y in loader(rank, size):
            if words.get("raise") == str(step) and rank == 1 and attempt == 0:
                raise ValueError("a shard is missing")  # mark: raise
            x, y = (x.cuda(), y.cuda()) if CUDA else (x, y)
            loss = (model(x) - y).square().mean()
            optimizer.zero_grad()
            if scaler:
                scaler.scale(loss).backward()
                plant_infinity(scaler, optimizer, words["scaler"] == str(step))
                scaler.step(optimizer)
                scaler.update()
            else:
                loss.backward()
                if "clip" in words:
                    clip = model.clip_grad_norm_ if words.get("wrap") == "fsdp" else None
                    norm = clip(1.0) if clip else nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                    told.append("norm %.6f" % (norm.full_tensor() if hasattr(norm, "full_tensor") else norm))
                optimizer.step()
            told.append("loss %.6f" % loss.item())
            if "save" in words and step % 3 == 2 and rank == 0:
                torch.save(model.module.state_dict(), words["save"] + ".part")
                os.replace(words["save"] + ".part", words["save"])
            step += 1
    if "dcp" in words:
        with_distributed_checkpoint(model, words["dcp"])
    return len(told) if CUDA else " ".join(told)


def main(rank=None, size=None):
    by = {"rank": rank, "world_size": size} if rank is not None else {}
    if "meet" in words:
        by = by or {"rank": int(os.environ["RANK"]), "world_size": int(os.environ["WORLD_SIZE"])}
        by["init_method"] = "file://" + words["meet"]
    if CUDA:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(words.get("backend", "gloo"), **by)
    rank, size = dist.get_rank(), dist.get_world_size()
    os.write(1, ("rank %d of %d: %s\n" % (rank, size, train(rank, size))).encode())  # whole, whoever else writes
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    if "spawn" in words:
        torch.multiprocessing.start_processes(main, args=(2,), nprocs=2, start_method=words["spawn"])
    elif "rank" in words:
        main(int(words["rank"]), 2)
    else:
        main()
