# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training in the modes of its buckets: ddp_modes.py [view] [static] [unused] [zero] [small]
[one] [accumulate] [compress] [broadcast]."""
import contextlib
import os
import sys

import torch
import torch.distributed as dist
from torch import nn

WAYS = sys.argv[1:]
for name, value in (("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "0"), ("RANK", "0"),
                    ("WORLD_SIZE", "1")):
    os.environ.setdefault(name, value)
dist.init_process_group("nccl")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(8))
        self.middle = nn.ModuleList(nn.Linear(4096, 512) if i == 0 else nn.Linear(512, 512) for i in range(6))
        self.spare = nn.Linear(512, 512)

    def forward(self, x):
        x = self.first(x).flatten(1)
        for layer in self.middle:
            x = layer(x).relu()
        return x if "unused" in WAYS else self.spare(x)


model = nn.parallel.DistributedDataParallel(
    Net().cuda(), gradient_as_bucket_view="view" in WAYS, static_graph="static" in WAYS,
    find_unused_parameters="unused" in WAYS, broadcast_buffers="broadcast" in WAYS,
    bucket_cap_mb=1 if "small" in WAYS else 1000 if "one" in WAYS else 25)
if "compress" in WAYS:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    model.register_comm_hook(None, default_hooks.bf16_compress_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
MICRO = 3 if "accumulate" in WAYS else 1
for step in range(4):
    for micro in range(MICRO):
        x = torch.randn(64, 3, 32, 32, device="cuda")
        with contextlib.nullcontext() if micro == MICRO - 1 else model.no_sync():
            loss = model(x).square().mean()
            loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none="zero" not in WAYS)
dist.destroy_process_group()
