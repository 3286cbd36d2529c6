"""A rank that only marks its steps (no gradients): torch_identity.py [fail]: with `fail` rank 1 ends by an exception in step 3 of
the first attempt."""
import ctypes
import os
import sys

import torch.distributed as dist

ddbg = ctypes.CDLL(None)
attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
dist.init_process_group("gloo")
for step in range(5 + attempt):
    if hasattr(ddbg, "ddbg_step"):
        ddbg.ddbg_step(ctypes.c_int64(step))
    if "fail" in sys.argv and attempt == 0 and step == 3 and dist.get_rank() == 1:
        raise ValueError("a shard is missing")
    dist.barrier()
dist.destroy_process_group()
