# SPDX-License-Identifier: Apache-2.0
"""The whole device, as NVML tells it at the end of a training loop: the context, PyTorch's segments,
what was allocated outside them, and what others have, to the byte; and the report's table of it."""
import json
import os
from pathlib import Path

import harness
from harness import check, equal

MIB = 1 << 20
CONTEXT, OTHERS, UNOWNED = 400 * MIB, 1000 * MIB, 60 * MIB
PROGRAM = Path(__file__).resolve().parent / "beside.py"


def live_sizes(trace):
    """By the function that allocated."""
    live = {}
    for event in trace.of("cuda_malloc", "cuda_free"):
        if event["record"] == "cuda_free":
            live.pop(event["address"], None)
        elif not event["result"] and event["device"] is not None and event["device"] >= 0:
            live[event["address"]] = event["api"], event["size"]
    return {of: [size for api, size in live.values() if api == of] for of in ("cudaMalloc", "cuMemAlloc")}


def check_balance(work):
    """Each row of the table has its own size; they are all there is."""
    path = Path(work) / "beside.mtap"
    harness.must_run([*harness.recorded(path), harness.PYTHON, PROGRAM],
                     env={"CUDASIM_OTHERS": str(OTHERS), "CUDASIM_UNOWNED": str(UNOWNED)})
    done = harness.must_run([harness.MEMTAP, "report", "--format", "json", path])
    whole = json.loads(done.stdout)
    (device,), (pinned,) = whole["devices"], whole["host"]["sites"]
    equal("page-locked", (pinned["bytes"], pinned["line"]["line"]), (4 * MIB, 11))
    balance, peak = device["balance"], device["peak"]
    small, handles = 1024 + 128 * 1024, 2  # cuBLAS's, for the backward's thread too; the rest of their page is nobody's
    rows = {"pytorch": peak["reserved"], "cuda": 6 * MIB + handles * (64 * MIB + small)}
    chosen = {"runtime": CONTEXT + 2 * MIB - handles * small, "other_processes": OTHERS, "unexplained": UNOWNED}
    wanted = rows if harness.ON_GPU else rows | chosen  # a real card's context and neighbours are what they are
    equal("rows of the balance", {row: balance[row] for row in wanted}, wanted)
    equal("their sum", balance["used"], sum(balance[row] for row in (*rows, *chosen)))
    parts = {part["name"].split()[0]: part["bytes"] for part in balance["by_library"]}
    equal("beside PyTorch", parts["beside.py:10"], 6 * MIB)
    equal("cuBLAS's, by its name", sum(size for name, size in parts.items() if name.startswith("libcublas")),
          handles * (64 * MIB + small))
    page = harness.must_run([harness.MEMTAP, "report", path]).stdout
    for row in ("PyTorch's segments", "other CUDA allocations", "beside.py:10", "libcublas", "CUDA context and modules",
                *(() if harness.ON_GPU else ("other processes",)), "unexplained"):
        check(f"  {row}" in page, f"no row of {row} in the page")


def main():
    harness.need_torch()
    os.environ["CUDASIM_CONTEXT"] = str(CONTEXT)
    with harness.folder() as work:
        path, phases = harness.record(work, "linear_loop.py")
        trace = harness.Trace(path)
        check_balance(work)
    last = trace.of("device_memory")[-1]
    taken, reserved = last["total"] - last["free"], trace.of("alloc", "free")[-1]["reserved"]
    if not harness.ON_GPU:  # others may be there
        equal("what this process has, by NVML", last["own"], taken)
    sizes = live_sizes(trace)
    equal("PyTorch's segments", sum(sizes["cudaMalloc"]), reserved)
    large = [size for size in sizes["cuMemAlloc"] if size > MIB]  # cuBLAS's own; its small ones share a page
    equal("cuBLAS's memory", sorted(set(sizes["cuMemAlloc"])), [1024, 128 * 1024, 64 * MIB])
    if not harness.ON_GPU:
        equal("what CUDA gave, and the context", taken, reserved + sum(large) + 2 * MIB + CONTEXT)
    harness.finish()


main()
