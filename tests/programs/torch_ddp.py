"""A DistributedDataParallel training loop: torch_ddp.py [elementwise|linear] [STEPS].

Kernels compute nothing: only the control flow is real.
"""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn


class Elementwise(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.ones(1000))
        self.b = nn.Parameter(torch.zeros(1000))

    def forward(self, x):
        return torch.tanh(x * self.a + self.b)


kind = sys.argv[1] if len(sys.argv) > 1 else "elementwise"
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 5
device = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(device)
dist.init_process_group("nccl")
model = Elementwise() if kind == "elementwise" else nn.Sequential(nn.Linear(1000, 100), nn.ReLU(), nn.Linear(100, 10))
model = nn.parallel.DistributedDataParallel(model.cuda(), device_ids=[device])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(steps):
    loss = model(torch.randn(8, 1000).cuda(non_blocking=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()
print(f"rank {dist.get_rank()} ok", flush=True)
dist.destroy_process_group()
