# SPDX-License-Identifier: Apache-2.0
"""optimizer_oom.py fp32|masters|bf16: a step of Adam, then memory runs out. With masters the weights are bfloat16, and
the optimizer works on fp32 copies."""
import sys

import torch
from torch import nn

kind = sys.argv[1]
model = nn.Linear(2048, 4096, bias=False, device="cuda", dtype=torch.float32 if kind == "fp32" else torch.bfloat16)
weights = list(model.parameters())
worked_on = [weight.detach().float().requires_grad_() for weight in weights] if kind == "masters" else weights
optimizer = torch.optim.Adam(worked_on)
for _ in range(2):
    model(torch.randn(16, 2048, device="cuda", dtype=weights[0].dtype)).sum().backward()
    if kind == "masters":
        for master, weight in zip(worked_on, weights):
            master.grad = weight.grad.float()
    optimizer.step()
torch.cuda.empty_cache()
torch.empty(torch.cuda.mem_get_info()[0] + (10 << 20), device="cuda", dtype=torch.uint8)
