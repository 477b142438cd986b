# SPDX-License-Identifier: Apache-2.0
"""4.3 billion parameters, sharded by FSDP2 over any number of ranks: do one rank's parameters, gradients and AdamW's
state take what the formula says, and nothing else? It prints them, with the time and the host's memory. By hand:

    build/tools/memtap simulate --gpu h100 --world-size 16384 --rank 8193 -- .venv/bin/python evaluation/ranks/sharded.py"""
import os
import resource
import sys
import time

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

WIDTH, LAYERS, FLOAT = 16384, 16, 4


def bytes_of(tensors):
    return sum(tensor.to_local().untyped_storage().nbytes() for tensor in tensors)


def main():
    start, ranks = time.time(), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    mesh = init_device_mesh("cuda", (ranks,), mesh_dim_names=("shard",))
    with torch.device("meta"):
        model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)))
    for part in [*model, model]:
        fully_shard(part, mesh=mesh)
    model.to_empty(device="cuda")
    parameters = torch.cuda.memory_allocated()
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    model(torch.empty(8, WIDTH, device="cuda")).sum().backward()
    gradients = bytes_of(parameter.grad for parameter in model.parameters())
    optimizer.step()
    optimizer.zero_grad()
    state = bytes_of(tensor for kept in optimizer.state.values() for tensor in kept.values() if tensor.dim())
    formula = LAYERS * -(-WIDTH // ranks) * WIDTH * FLOAT
    found = [parameters, gradients, state, torch.cuda.memory_allocated() - parameters - state]
    print(ranks, *found, "equal" if found == [formula, formula, 2 * formula, 0] else f"unlike {formula}",
          f"{time.time() - start:.1f} s, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")
    sys.exit(found != [formula, formula, 2 * formula, 0])


main()
