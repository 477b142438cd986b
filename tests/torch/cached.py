# SPDX-License-Identifier: Apache-2.0
"""Leaves free memory in PyTorch's cache, in the way that is named, and prints what PyTorch says of it."""
import json
import os
import sys

import torch

MIB = 1 << 20


def take(mib, n=1):
    return [torch.empty(mib * MIB, dtype=torch.uint8, device="cuda") for _ in range(n)]


def on(stream, mib, n):
    with torch.cuda.stream(stream):
        take(mib, n)


def one_side_stream():
    on(torch.cuda.Stream(), 64, 4)
    return take(32, 2)


def two_side_streams():
    on(torch.cuda.Stream(), 64, 2)
    on(torch.cuda.Stream(), 96, 1)
    return take(64, 1)


def stream_in_a_loop():
    side = torch.cuda.Stream()
    for mib in (32, 48, 64):
        on(side, mib, 2)
    return take(48, 2)


def captured(rows, pool=None):
    x = torch.ones(rows, 1024, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        y = torch.relu(x + 1) * 2
    return graph, x, y


def graph_of_each_shape():
    return [captured(rows) for rows in (16384, 8192, 4096)]


def graphs_of_one_pool():
    pool = torch.cuda.graph_pool_handle()
    return [captured(rows, pool) for rows in (16384, 8192, 4096)]


def pool_of_ours():
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        take(64, 3)
    return pool, take(32, 1)


def emptied():
    kept = take(1)
    take(256)
    torch.cuda.empty_cache()
    return kept


def emptied_in_part():
    kept = take(12, 1)
    more = take(30, 3)
    kept.append(more.pop())
    del more
    torch.cuda.empty_cache()
    return kept


def emptied_twice():
    kept = []
    for mib in (40, 80):
        take(mib, 2)
        torch.cuda.empty_cache()
        kept += take(20)
    take(100)
    torch.cuda.empty_cache()
    return kept


def whole_segments():
    take(64, 4)
    return take(80)


def left_by_an_evaluation():
    kept = take(40, 2)
    take(120, 3)
    return kept


def wrong_sizes():
    for mib in (32, 48, 64, 80):
        take(mib)
    return take(8)


def holes():
    all = take(6, 30)
    return all[::3] + take(9)


def holes_of_a_third():
    all = take(7, 12)
    kept = all[::2]
    del all
    return kept + take(14, 2)


def holes_beside_large_ones():
    all = take(4, 40)
    return [block for i, block in enumerate(all) if i % 5 == 0] + take(19)


def main(way):
    torch.cuda.init()
    kept = globals()[way]()
    print(json.dumps({"reserved": torch.cuda.memory_reserved(), "allocated": torch.cuda.memory_allocated(),
                      "most": torch.cuda.max_memory_reserved(), "kept": len(kept)}))
    sys.stdout.flush()
    os._exit(0)  # with all that is kept


main(sys.argv[1])
