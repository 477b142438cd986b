# SPDX-License-Identifier: Apache-2.0
"""busy_loop.py [STEPS [WIDTH]]: a training loop that waits for the GPU: large matrices, few calls. Prints the
median step in milliseconds, by CUDA's events."""
import statistics
import sys

import torch

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
WIDTH = int(sys.argv[2]) if len(sys.argv) > 2 else 8192
WARM_UP = STEPS // 4

layers = [torch.nn.Linear(WIDTH, WIDTH, bias=False, device="cuda", dtype=torch.bfloat16)
          for _ in range(6)]
model = torch.nn.Sequential(*[part for layer in layers for part in (layer, torch.nn.GELU())])
optimizer = torch.optim.AdamW(model.parameters())
batch = torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16)

marks = [torch.cuda.Event(enable_timing=True) for _ in range(WARM_UP + STEPS + 1)]
marks[0].record()
for mark in marks[1:]:
    model(batch).float().square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    mark.record()
torch.cuda.synchronize()
times = [begin.elapsed_time(end) for begin, end in zip(marks, marks[1:])]
print(statistics.median(times[WARM_UP:]))
