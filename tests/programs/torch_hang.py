"""A fault on 2 ranks, which PyTorch's watchdog must end: torch_hang.py missing|mismatch [TIMEOUT_S].

missing: rank 1 leaves out an all-reduce; mismatch: it calls an all-gather instead.
"""
import datetime
import os
import sys
import time

import torch
import torch.distributed as dist

fault = sys.argv[1]
timeout = datetime.timedelta(seconds=int(sys.argv[2]) if len(sys.argv) > 2 else 5)
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", timeout=timeout)
data = torch.ones(4).cuda()
dist.all_reduce(data)
torch.cuda.synchronize()
print(f"rank {rank} first {data.cpu().tolist()}", flush=True)
if rank == 0:
    dist.all_reduce(data)
elif fault == "mismatch":
    dist.all_gather_into_tensor(torch.empty(8, device="cuda"), data)
else:
    time.sleep(60)
torch.cuda.synchronize()
print(f"rank {rank} got through", flush=True)
