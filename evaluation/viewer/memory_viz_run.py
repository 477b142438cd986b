# SPDX-License-Identifier: Apache-2.0
"""memory_viz_run.py ALLOCATIONS SNAPSHOT: allocates and frees as often as that, with sizes of a training step, and
keeps PyTorch's own history of it. Under memtap run, both have recorded the same run (memory_viz.mjs)."""
import sys

import torch

allocations, snapshot = int(sys.argv[1]), sys.argv[2]
SIZES = [1 << 20, 3 << 20, 300 << 10, 12 << 20, 64 << 10]
LAYERS = 96

torch.cuda.memory._record_memory_history(max_entries=4 * allocations)
done, kept = 0, [torch.empty(8 << 20, dtype=torch.uint8, device="cuda") for _ in range(20)]
while done < allocations:
    live = []
    for layer in range(min(LAYERS, allocations - done)):
        live.append(torch.empty(SIZES[layer % len(SIZES)], dtype=torch.uint8, device="cuda"))
        done += 1
    while live:
        live.pop()
torch.cuda.memory._dump_snapshot(snapshot)
