"""Everything ProcessGroupNCCL does in a job, then what PyTorch's own Flight Recorder has seen: torch_nccl.py FOLDER.

Writes FOLDER/recorder-<rank>.json (the entries in order) and FOLDER/result-<rank>.json (numbers that must not depend on who
looks on). On the doubles kernels compute nothing, so what is compared are sums of data that was only copied and reduced.
"""
import json
import os
import pickle
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel as DDP

folder = sys.argv[1]
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
result = {}


def note(name, tensor):
    torch.cuda.synchronize()
    result[name] = tensor.cpu().double().tolist()


def of(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype).to(device)


def collectives(group=None):
    size, own = dist.get_world_size(group), dist.get_rank(group)
    x = of(1.0 + own, 2.0)
    dist.all_reduce(x, group=group)
    note("all_reduce", x)
    y = torch.empty(2 * size, device=device)
    dist.all_gather_into_tensor(y, of(own + 0.5, 7.0), group=group)
    note("all_gather", y)
    z = torch.empty(3, device=device)
    dist.reduce_scatter_tensor(z, of(*range(3 * size)), group=group)
    note("reduce_scatter", z)
    b = of(10.0 * (own + 1), dtype=torch.float64)
    dist.broadcast(b, dist.get_global_rank(group, size - 1) if group else size - 1, group=group)
    note("broadcast", b)
    r = of(1.0 * own, dtype=torch.bfloat16)
    dist.reduce(r, dist.get_global_rank(group, 0) if group else 0, op=dist.ReduceOp.MAX, group=group)


def exchange():
    out = torch.empty(world, device=device)
    dist.all_to_all_single(out, of(*(10.0 * rank + i for i in range(world))))
    note("all_to_all", out)
    # Rank r gives i + 1 numbers to rank i, and so gets r + 1 from each.
    given = of(*(float(rank) for i in range(world) for _ in range(i + 1)))
    got = torch.empty((rank + 1) * world, device=device)
    dist.all_to_all_single(got, given, [rank + 1] * world, [i + 1 for i in range(world)])
    note("all_to_all_uneven", got)
    send, recv = of(rank + 0.25), torch.empty(1, device=device)
    operations = [dist.P2POp(dist.isend, send, (rank + 1) % world), dist.P2POp(dist.irecv, recv, (rank - 1) % world)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    note("ring", recv)


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(8, 64).to(device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()


def recorded():
    dump = pickle.loads(torch._C._distributed_c10d._dump_nccl_trace())
    keys = ("record_id", "pg_id", "process_group", "collective_seq_id", "p2p_seq_id", "op_id", "profiling_name", "input_sizes",
            "input_dtypes", "output_sizes", "output_dtypes", "state", "is_p2p")
    return [{key: entry[key] for key in keys if key in entry} for entry in dump["entries"]]


dist.init_process_group("nccl", device_id=device if os.environ.get("EAGER") else None)
collectives()
exchange()
train(DDP(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8)).to(device), device_ids=[device]))
train(FSDP(nn.Sequential(nn.Linear(64, 32), nn.Linear(32, 8)).to(device), device_id=device))
half = dist.new_group([i for i in range(world) if i % 2 == 0])
other = dist.new_group([i for i in range(world) if i % 2 == 1])
if world > 2:
    collectives(half if rank % 2 == 0 else other)
dist.barrier()
torch.cuda.synchronize()
with open(os.path.join(folder, "recorder-%d.json" % rank), "w") as file:
    json.dump(recorded(), file)
with open(os.path.join(folder, "result-%d.json" % rank), "w") as file:
    json.dump(result, file)
print("rank %d done" % rank, flush=True)
if os.environ.get("ABORT"):
    dist.distributed_c10d._abort_process_group()
else:
    dist.destroy_process_group()
