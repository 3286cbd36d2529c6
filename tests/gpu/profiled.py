"""profiled.py: a loop under torch.profiler; prints how many kernels it saw, by which CUPTI is known to have worked."""
import torch
from torch.profiler import ProfilerActivity, profile

a = torch.randn(256, 256, device="cuda")
torch.cuda.synchronize()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
    for _ in range(20):
        a = torch.tanh(a @ a)
    torch.cuda.synchronize()
kernels = [event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA]
print("profiler kernels", len(kernels))
