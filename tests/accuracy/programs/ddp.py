# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training: one process of it."""
import os

import torch
import torch.distributed as dist
from torch import nn

for name, value in (("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "0"), ("RANK", "0"),
                    ("WORLD_SIZE", "1")):
    os.environ.setdefault(name, value)
dist.init_process_group("nccl")
model = nn.Sequential(*(layer for _ in range(6) for layer in (nn.Linear(512, 512), nn.ReLU())))
model = nn.parallel.DistributedDataParallel(model.cuda(), bucket_cap_mb=2)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(4):
    x = torch.randn(512, 512, device="cuda")
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
