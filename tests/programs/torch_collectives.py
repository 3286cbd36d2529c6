"""Every collective of PyTorch's NCCL backend once, with the data checked, on 2 ranks or more."""
import os

import torch
import torch.distributed as dist

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")

summed = torch.arange(4.0).add(rank).cuda()
dist.all_reduce(summed)
assert torch.equal(summed.cpu(), sum(torch.arange(4.0) + r for r in range(world)))

gathered = torch.empty(3 * world, device="cuda")
dist.all_gather_into_tensor(gathered, torch.full((3,), float(rank)).cuda())
assert torch.equal(gathered.cpu(), torch.arange(float(world)).repeat_interleave(3))

part = torch.empty(2, device="cuda")
dist.reduce_scatter_tensor(part, torch.arange(2.0 * world).cuda())
assert torch.equal(part.cpu(), world * torch.arange(2.0 * world)[2 * rank:2 * rank + 2])

root = torch.tensor([rank * 10.0]).cuda()
dist.broadcast(root, 1)
assert root.cpu().item() == 10

received = torch.empty(1, device="cuda")
ring = [dist.P2POp(dist.isend, torch.tensor([rank + 0.5]).cuda(), (rank + 1) % world),
        dist.P2POp(dist.irecv, received, (rank - 1) % world)]
for work in dist.batch_isend_irecv(ring):
    work.wait()
assert received.cpu().item() == (rank - 1) % world + 0.5

long = torch.full((3_000_000,), 1.5, dtype=torch.bfloat16).cuda()
dist.all_reduce(long)
assert long.cpu().float().eq(1.5 * world).all()

pair = dist.new_group([0, 1])
one = torch.ones(1).cuda()
if rank < 2:
    dist.all_reduce(one, group=pair)
    assert one.cpu().item() == 2

dist.barrier()
print(f"rank {rank} ok", flush=True)
dist.destroy_process_group()
