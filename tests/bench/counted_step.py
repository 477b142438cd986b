# SPDX-License-Identifier: Apache-2.0
"""counted_step.py LIBRARY STEPS: takes steps of training, and has callgrind count so many of them, when nothing is new any more."""
import ctypes
import sys

import torch
from torch import nn

WARM_UP = 30  # until every page of the heap that has records of blocks is known

marks = ctypes.CDLL(sys.argv[1])
with torch.device("cuda"):
    blocks = [module for _ in range(4) for module in (nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU())]
    model = nn.Sequential(*blocks)
optimizer = torch.optim.AdamW(model.parameters())


def step():
    model(torch.randn(8, 64, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


for i in range(WARM_UP + int(sys.argv[2])):  # one loop: a stack is known by all its lines
    if i == WARM_UP:
        marks.begin_counting()
    step()
marks.end_counting()
