# SPDX-License-Identifier: Apache-2.0
"""Trains in NVTX ranges of its own, and at last in those of emit_nvtx; prints where it allocates."""
import torch
from torch import nn
from torch.cuda import nvtx

model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(3):
    with nvtx.range("train"):
        x = torch.randn(256, 512, device="cuda")
        nvtx.range_push("forward")
        loss = model(x).sum()
        nvtx.range_pop()
        with nvtx.range("backward"):
            loss.backward()
        work = nvtx.range_start("optimizer")
        optimizer.step()
        nvtx.range_end(work)
        optimizer.zero_grad()
    nvtx.mark("a step ends")
with torch.autograd.profiler.emit_nvtx():
    model(x).sum().backward()
