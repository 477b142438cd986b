# SPDX-License-Identifier: Apache-2.0
"""bitsandbytes: eight_bits.py adam | lion | paged (optimizers with state of eight bits), linear8 (frozen weights
of eight bits and adapters), linear4 (of four)."""
import sys

import bitsandbytes as bnb
import torch
from torch import nn

WAY = sys.argv[1]


class Adapted(nn.Module):
    def __init__(self, width, rank=16):
        super().__init__()
        self.base = (bnb.nn.Linear8bitLt(width, width, has_fp16_weights=False) if WAY == "linear8" else
                     bnb.nn.Linear4bit(width, width, compute_dtype=torch.bfloat16, quant_type="nf4"))
        self.down, self.up = nn.Linear(width, rank, bias=False), nn.Linear(rank, width, bias=False)
        self.base.requires_grad_(False)

    def forward(self, x):
        return x + self.base(x) + self.up(self.down(x))


if WAY in ("linear8", "linear4"):
    model = nn.Sequential(*(Adapted(2048) for _ in range(4))).cuda()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    dtype = torch.float16 if WAY == "linear8" else torch.bfloat16
else:
    model = nn.Sequential(*(layer for _ in range(5) for layer in (nn.Linear(1024, 1024), nn.GELU()))).cuda()
    optimizer = {"adam": bnb.optim.AdamW8bit, "lion": bnb.optim.Lion8bit,
                 "paged": bnb.optim.PagedAdamW8bit}[WAY](model.parameters(), lr=1e-4)
    dtype = torch.float32
for step in range(4):
    x = torch.randn(256, 2048 if WAY.startswith("linear") else 1024, device="cuda")
    with torch.autocast("cuda", dtype, enabled=dtype != torch.float32):
        loss = model(x).float().square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
