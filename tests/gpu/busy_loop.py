# SPDX-License-Identifier: Apache-2.0
"""busy_loop.py [WIDTH]: a training loop that waits for the GPU: large matrices, few calls. For each number on its input it takes so
many steps, and prints the median of theirs in milliseconds, by CUDA's events."""
import statistics
import sys

import torch

width = next((int(word) for word in sys.argv[1:] if word.isdigit()), 8192)
layers = [torch.nn.Linear(width, width, bias=False, device="cuda", dtype=torch.bfloat16) for _ in range(6)]
model = torch.nn.Sequential(*[part for layer in layers for part in (layer, torch.nn.GELU())])
optimizer = torch.optim.AdamW(model.parameters())
batch = torch.randn(width, width, device="cuda", dtype=torch.bfloat16)
if "--record" in sys.argv:
    torch.cuda.memory._record_memory_history(stacks="python")


def median_step(steps):
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
    marks[0].record()
    for mark in marks[1:]:
        model(batch).float().square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        mark.record()
    torch.cuda.synchronize()
    return statistics.median(begin.elapsed_time(end) for begin, end in zip(marks, marks[1:]))


median_step(3)
for line in sys.stdin:
    print(median_step(int(line)), flush=True)
