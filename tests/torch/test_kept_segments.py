# SPDX-License-Identifier: Apache-2.0
"""Segments without a block that a reset graph's pool and a MemPool keep have names: the capture's, and
the line's that wanted memory of the pool."""
import json

import harness
from harness import check, equal

SCRIPT = """
import torch
MIB = 1 << 20

def bytes_of(size):
    return torch.empty(size, dtype=torch.uint8, device="cuda")

def capture():
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        bytes_of(64 * MIB).zero_()
    graph.reset()

def take(pool):
    with torch.cuda.use_mem_pool(pool):
        return torch.empty(40 * MIB, dtype=torch.uint8, device="cuda")

bytes_of(1)
pool = torch.cuda.MemPool()
take(pool)
capture()
big = bytes_of(500 * MIB)
"""
MIB = 1 << 20


def main():
    harness.need_torch()
    with harness.folder() as work:
        script, trace = f"{work}/script.py", f"{work}/trace.mtap"
        with open(script, "w", encoding="utf-8") as out:
            out.write(SCRIPT)
        probe = "import torch; print(hasattr(torch.cuda, 'use_mem_pool'))"
        if "True" not in harness.must_run([*harness.alone(), harness.PYTHON, "-c", probe]).stdout:
            harness.skip("this PyTorch has no MemPool")
        harness.must_run([*harness.recorded(trace), harness.PYTHON, script])
        done = harness.must_run([harness.MEMTAP, "report", "--format", "json", trace])
        page = harness.must_run([harness.MEMTAP, "report", trace]).stdout
    device, = json.loads(done.stdout)["devices"]
    kept = {row["name"]: row["bytes"] for row in device["balance"]["empty_segments"]}
    equal("of the graph", kept.get("CUDA: graph 1"), 64 * MIB)
    equal("of the MemPool", kept.get("script.py:16 take"), 40 * MIB)
    for row in ("empty: CUDA: graph 1", "empty: script.py:16 take"):
        check(f"    {row}" in page, f"no row of {row}")
    harness.finish()


main()
