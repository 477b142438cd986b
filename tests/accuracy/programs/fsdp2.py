# SPDX-License-Identifier: Apache-2.0
"""Fully sharded training (FSDP2): one process of it. Parameters and state are DTensors."""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

for name, value in (("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "0"), ("RANK", "0"),
                    ("WORLD_SIZE", "1")):
    os.environ.setdefault(name, value)
dist.init_process_group("nccl")
model = nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(512, 512), nn.GELU())))
for layer in model.cuda():
    if isinstance(layer, nn.Linear):
        fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(4):
    x = torch.randn(512, 512, device="cuda")
    loss = model(x).square().mean()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
