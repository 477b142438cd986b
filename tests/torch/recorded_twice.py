# SPDX-License-Identifier: Apache-2.0
"""recorded_twice.py SNAPSHOT: a training loop with two streams and an emptied cache, under PyTorch's own recorder,
whose snapshot it dumps; memory_viz's loader is then tried on what memtap exports."""
import pickle
import sys
import time

import torch
from torch import nn

torch.cuda.memory._record_memory_history(max_entries=1_000_000, stacks="python")
torch.manual_seed(0)
model = nn.Sequential(*(nn.Sequential(nn.Linear(300 + 50 * i, 350 + 50 * i), nn.GELU(), nn.Dropout())
                        for i in range(8))).cuda()
optimizer = torch.optim.Adam(model.parameters())
side = torch.cuda.Stream()
for step in range(4):
    model(torch.randn(16 + 100 * step, 300, device="cuda")).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=step % 2 == 0)
    with torch.cuda.stream(side):
        odd = [torch.empty(n * n, device="cuda") for n in range(1, 900, 23)]
    kept = odd[::3]
    odd[5].record_stream(torch.cuda.current_stream())
    del odd
    if step == 2:
        del kept
        torch.cuda.empty_cache()
torch.cuda.synchronize()
stats = None
while stats != torch.cuda.memory_stats():  # autograd's thread may have something left to drop
    stats = torch.cuda.memory_stats()
    snapshot = torch.cuda.memory._snapshot()
    snapshot["monotonic_ns"] = time.monotonic_ns()
with open(sys.argv[1], "wb") as file:
    pickle.dump(snapshot, file)
