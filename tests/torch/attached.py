# SPDX-License-Identifier: Apache-2.0
"""attached.py FIRST: allocates on two streams and in a pool of its own, and caches what it frees; says what PyTorch has, and waits for a
file `go`. What follows begins with an allocation or a free, and ends with PyTorch's peaks of it."""
import json
import os
import random
import sys
import time

import torch

random.seed(1)


def some(number):
    """The blocks that are kept of many."""
    kept = []
    for _ in range(number):
        kept.append(torch.empty(random.randrange(1, 6 << 20), dtype=torch.uint8, device="cuda"))
        if random.random() < 0.6:
            kept.pop(random.randrange(len(kept)))
    return kept


model = torch.nn.Linear(512, 512).cuda()
held = some(100)[::3]
with torch.cuda.stream(torch.cuda.Stream()):
    held += some(50)[::4]
if hasattr(torch.cuda, "use_mem_pool"):
    with torch.cuda.use_mem_pool(torch.cuda.MemPool()):
        held += some(20)[::2]
some(60)
freed = [torch.empty(3 << 20, device="cuda") for _ in range(4)]
torch.cuda.reset_peak_memory_stats()
with open("ready.new", "w", encoding="utf-8") as file:
    json.dump({"allocated": torch.cuda.memory_allocated(), "reserved": torch.cuda.memory_reserved(),
               "parameters": 512 * 512 * 4 + 512 * 4}, file)
os.rename("ready.new", "ready")
while not os.path.exists("go"):
    time.sleep(0.005)
if sys.argv[1] == "free":
    del freed
for _ in range(4):
    model(torch.randn(random.randrange(8, 512), 512, device="cuda")).sum().backward()
    some(60)
with open("peaks", "w", encoding="utf-8") as file:
    json.dump({"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}, file)
