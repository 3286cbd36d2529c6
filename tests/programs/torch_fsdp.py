"""A FullyShardedDataParallel training loop. Kernels compute nothing: only the control flow is real."""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel

device = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(device)
dist.init_process_group("nccl")
model = nn.Sequential(FullyShardedDataParallel(nn.Linear(512, 512).cuda()), nn.ReLU(),
                      FullyShardedDataParallel(nn.Linear(512, 64).cuda()))
model = FullyShardedDataParallel(model, device_id=device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    model(torch.randn(8, 512).cuda()).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
torch.cuda.synchronize()
print(f"rank {dist.get_rank()} ok", flush=True)
dist.destroy_process_group()
