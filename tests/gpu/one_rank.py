"""one_rank.py N: N all-reduces of one rank by NCCL, under torchrun."""
import os
import sys

import torch
import torch.distributed as dist

count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
dist.init_process_group("nccl")
data = torch.ones(1 << 16, device="cuda")
for _ in range(count):
    dist.all_reduce(data)
torch.cuda.synchronize()
right = bool((data == 1).all().item()) or "GPU_CHECK_DOUBLE" in os.environ
print("nccl", ".".join(map(str, torch.cuda.nccl.version())), "right" if right else "wrong")
dist.destroy_process_group()
sys.exit(0 if right else 3)
