# SPDX-License-Identifier: Apache-2.0
"""Captures graphs and drops them, again and again: the private pools of later ones often stand where those of earlier ones did."""
import torch

MIB = 1 << 20


def capture(size):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        blocks = [torch.empty(size * MIB, device="cuda", dtype=torch.uint8) for _ in range(3)]
    return graph, blocks


# From a few requests memtap learns where PyTorch counts calls of empty_cache; torch.cuda.graph calls it, too.
eager = [torch.empty(size * 4096, device="cuda") for size in range(1, 40)]
del eager
for mib in (3, 30, 5, 1):
    first, second = capture(mib), capture(2 * mib)
    del first
    torch.cuda.empty_cache()
    eager = torch.empty(11 * MIB, device="cuda", dtype=torch.uint8)
    third = capture(mib)
    del second, third
    torch.cuda.empty_cache()
    eager = torch.empty(7 * MIB, device="cuda", dtype=torch.uint8)
