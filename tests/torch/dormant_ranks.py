# SPDX-License-Identifier: Apache-2.0
"""dormant_ranks.py PORT: two ranks with DistributedDataParallel. Each takes two steps, says what it has allocated, allocates until a file `go`
exists (rank 1 only from a pool of its own), and takes eight more."""
import contextlib
import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

RANK = 0 if os.fork() else 1
os.environ.update(RANK=str(RANK), LOCAL_RANK=str(RANK), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[1])
torch.cuda.set_device(RANK)
dist.init_process_group("nccl")
model = DistributedDataParallel(torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(4))).cuda())
optimizer = torch.optim.AdamW(model.parameters())


def step():
    loss = model(torch.randn(8 + RANK, 256, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(2):
    step()
pool = torch.cuda.MemPool()


def allocate():
    with torch.cuda.use_mem_pool(pool) if RANK else contextlib.nullcontext():
        return torch.empty(256, device="cuda")


held = allocate()
sizes = [sum(state[name].untyped_storage().nbytes() for state in optimizer.state.values()) for name in ("exp_avg", "exp_avg_sq")]
with open(f"ready-{RANK}.new", "w", encoding="utf-8") as file:
    json.dump({"allocated": torch.cuda.memory_allocated(), "reserved": torch.cuda.memory_reserved(), "parameters": sizes[0],
               "optimizer_state": sum(sizes)}, file)
os.rename(f"ready-{RANK}.new", f"ready-{RANK}")
while not os.path.exists("go"):
    held = allocate()
    time.sleep(0.002)
for _ in range(8):
    step()
dist.destroy_process_group()
if RANK == 0:
    sys.exit(os.wait()[1])
