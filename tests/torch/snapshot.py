# SPDX-License-Identifier: Apache-2.0
"""snapshot.py LOG: a training loop with blocks of many sizes, two streams and an emptied cache, under
PyTorch's own recorder, whose entries and counters it writes to LOG as JSON."""
import json
import sys
import time

import torch
from torch import nn

torch.cuda.memory._record_memory_history(max_entries=1_000_000, stacks="python")
torch.manual_seed(0)
model = nn.Sequential(*(nn.Sequential(nn.Linear(300 + 50 * i, 350 + 50 * i), nn.GELU(), nn.Dropout())
                        for i in range(12))).cuda()
optimizer = torch.optim.Adam(model.parameters())
side = torch.cuda.Stream()
for step in range(6):
    model(torch.randn(16 + 100 * step, 300, device="cuda")).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=step % 2 == 0)
    with torch.cuda.stream(side):
        odd = [torch.empty(n * n, device="cuda") for n in range(1, 900, 13)]
    kept = odd[::3]
    odd[5].record_stream(torch.cuda.current_stream())
    del odd
    if step == 3:
        del kept
        torch.cuda.empty_cache()

torch.cuda.synchronize()
stats = None
while stats != torch.cuda.memory_stats():  # autograd's thread may have something left to drop
    stats = torch.cuda.memory_stats()
    snapshot = torch.cuda.memory._snapshot()
    now = time.monotonic_ns()
log = {
    "time_ns": now,
    "entries": [{key: entry.get(key) for key in ("action", "addr", "size", "stream", "time_us")}
                for entry in snapshot["device_traces"][0] if "addr" in entry],
    "blocks": [(block["address"], block["size"]) for segment in snapshot["segments"]
               for block in segment["blocks"] if block["state"] == "active_allocated"],
    "allocated": stats["allocation.all.allocated"],
    "freed": stats["allocation.all.freed"],
    "segments": stats["segment.all.allocated"],
}
json.dump(log, open(sys.argv[1], "w"))
