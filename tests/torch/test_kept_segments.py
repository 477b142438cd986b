# SPDX-License-Identifier: Apache-2.0
"""Segments that a graph's pool and a MemPool keep have their names, also where no block is in them, where
pools are used inside each other and shared by graphs; and at an OOM what is free in them is no use."""
import json
from pathlib import Path

import harness
from harness import check, equal

START = """
import torch
MIB = 1 << 20

def bytes_of(size):
    return torch.empty(size, dtype=torch.uint8, device="cuda")

def capture(size, pool=None):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        bytes_of(size).zero_()
    return graph

first, second = torch.cuda.MemPool(), torch.cuda.MemPool()
"""
KEPT = START + """
with torch.cuda.use_mem_pool(first):
    bytes_of(40 * MIB)
    try:
        with torch.cuda.use_mem_pool(second):
            bytes_of(80 * MIB)
            raise RuntimeError
    except RuntimeError:
        pass
    with torch.cuda.use_mem_pool(second):
        bytes_of(160 * MIB)
    bytes_of(320 * MIB)
    used = bytes_of(20 * MIB)
other = bytes_of(30 * MIB)
graph = capture(64 * MIB)
with torch.cuda.use_mem_pool(first):
    bytes_of(640 * MIB)
shared = capture(128 * MIB, graph.pool())
graph.reset()
big = bytes_of(1500 * MIB)
"""
OOM = START + """
with torch.cuda.use_mem_pool(first):
    used = bytes_of(1000 * MIB)
    gone = bytes_of(9000 * MIB)
del gone
half = bytes_of(8000 * MIB)
try:
    bytes_of(9000 * MIB)
except torch.cuda.OutOfMemoryError:
    pass
"""
MIB = 1 << 20
POOL = "MemPool (0, 1)"


def record(work, text, name, gpu=harness.GPU, **environment):
    script, trace = f"{work}/script.py", f"{work}/{name}.mtap"
    with open(script, "w", encoding="utf-8") as out:
        out.write(text)
    harness.fork(trace, script, gpu=gpu, env=environment)
    return trace


def device_of(trace):
    done = harness.must_run([harness.MEMTAP, "report", "--format", "json", trace])
    return json.loads(done.stdout)["devices"][0]


def check_kept(work):
    trace = record(work, KEPT, "kept")
    wanted = {POOL: 960 * MIB, "MemPool (0, 2)": 240 * MIB, "CUDA: graph 1": 64 * MIB,
              "CUDA: graph 2 in graph 1's pool": 128 * MIB}
    compact = f"{work}/compact.mtap"
    harness.must_run([harness.MEMTAP, "compact", "-o", compact, trace])
    for what, device in (("whole", device_of(trace)), ("compact", device_of(compact))):
        empty = {row["name"]: row["bytes"] for row in device["balance"]["empty_segments"]}
        for name, size in wanted.items():
            equal(f"{what}: empty, {name}", empty.get(name), size)
        pools = {row["name"]: (row["reserved"], row["used"]) for row in device["private_pools"]}
        equal(f"{what}: pools", pools,
              {name: (size, 0) for name, size in wanted.items()} | {POOL: (1000 * MIB, 20 * MIB)})
    unsampled = record(work, KEPT, "unsampled", MEMTAP_THREAD="0")  # as a run is that ends before NVML begins
    for of in trace, unsampled:
        page = harness.must_run([harness.MEMTAP, "report", of]).stdout
        for name in wanted:
            check(f"    empty: {name}" in page, f"no row of {name}")


def check_oom(work, name, **environment):
    trace = record(work, OOM, name, "rtx4090", **environment)
    page = harness.must_run([harness.MEMTAP, "oom", trace]).stdout
    check(f"8.79 GiB free in {POOL}, which serves only its own blocks" in page, f"{name}: {page}")
    check("The request exceeds all free memory outside private pools by" in page, f"{name}: it is said that it would fit: {page}")


def main():
    harness.need_torch()
    with harness.folder() as work:
        probe = Path(work) / "probe.py"
        probe.write_text("import torch; print(hasattr(torch.cuda, 'use_mem_pool'))")
        if "True" not in harness.fork(f"{work}/probe.mtap", probe):
            harness.skip("this PyTorch has no MemPool")
        check_kept(work)
        if harness.ON_GPU:  # whose memory is of another size
            harness.finish()
        check_oom(work, "oom")
        check_oom(work, "expandable", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    harness.finish()


main()
