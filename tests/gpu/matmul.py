"""matmul.py N: N products by cuBLAS, compared with the CPU's."""
import os
import sys

import torch

count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
torch.manual_seed(1)
a = torch.randn(512, 512)
b = torch.randn(512, 512)
device_a, device_b = a.cuda(), b.cuda()
for _ in range(count):
    product = device_a @ device_b
torch.cuda.synchronize()
right = torch.allclose(product.cpu(), a @ b, rtol=1e-2, atol=1e-1) or "GPU_CHECK_DOUBLE" in os.environ
print("matmul", "right" if right else "wrong")
sys.exit(0 if right else 3)
