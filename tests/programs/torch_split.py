"""Eager init, by which new groups are ncclCommSplit; coalesced, all-to-all and gather operations; 2 ranks."""
import os

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
device = torch.device("cuda", rank)
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)

both = dist.new_group([0, 1])
dist.new_group([0])
ones = torch.ones(2).cuda()
dist.all_reduce(ones, group=both)
assert ones.cpu().tolist() == [2, 2]

exchanged = torch.empty(2, device=device)
dist.all_to_all_single(exchanged, torch.arange(2.0).cuda())
assert exchanged.cpu().tolist() == [rank, rank]

parts = [torch.empty(1, device=device) for _ in range(2)] if rank == 0 else None
dist.gather(torch.tensor([rank + 1.0]).cuda(), parts, 0)
assert not parts or [part.item() for part in parts] == [1, 2]

with dist.distributed_c10d._coalescing_manager(device=device):
    dist.all_reduce(ones)
    dist.all_reduce(exchanged)
assert ones.cpu().tolist() == [4, 4] and exchanged.cpu().tolist() == [1, 1]
print(f"rank {rank} ok", flush=True)

if os.environ.get("ABORT"):
    dist.distributed_c10d._abort_process_group()
else:
    dist.destroy_process_group()
