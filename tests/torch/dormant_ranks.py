# SPDX-License-Identifier: Apache-2.0
"""dormant_ranks.py PORT: two ranks with DistributedDataParallel. Each takes two steps, says that it is ready, allocates until a file `go` exists, and takes
eight more."""
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
with open(f"ready-{RANK}", "w", encoding="utf-8"):
    pass
while not os.path.exists("go"):
    torch.empty(256, device="cuda")
    time.sleep(0.002)
for _ in range(8):
    step()
dist.destroy_process_group()
if RANK == 0:
    sys.exit(os.wait()[1])
