"""One collective of NCCL's, and ranges of torch.cuda.nvtx round steps of it. Prints what a child has in NVTX_INJECTION64_PATH."""
import os
import subprocess

import torch
import torch.distributed as dist

value = subprocess.run(["printenv", "NVTX_INJECTION64_PATH"], capture_output=True, text=True).stdout.strip() or None
os.write(1, b"%s\n" % str(value).encode())
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
numbers = torch.ones(8, device="cuda")
dist.all_reduce(numbers)
for step in range(3):
    torch.cuda.nvtx.range_push("forward")
    with torch.cuda.nvtx.range("layer %d" % step):
        numbers.cpu()
    torch.cuda.nvtx.range_pop()
    dist.all_reduce(numbers)
torch.cuda.synchronize()
dist.destroy_process_group()
