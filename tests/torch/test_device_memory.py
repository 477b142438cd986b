# SPDX-License-Identifier: Apache-2.0
"""The whole device, as NVML tells it at the end of a training loop: the context, PyTorch's segments,
what was allocated beside them, and what others have, to the byte; and the report's table of it."""
import json
import os
from pathlib import Path

import harness
from harness import check, equal

MIB = 1 << 20
CONTEXT, OTHERS, UNOWNED = 400 * MIB, 1000 * MIB, 60 * MIB
PROGRAM = Path(__file__).resolve().parent / "beside.py"


def live_bytes(trace):
    live = {}
    for event in trace.of("cuda_malloc", "cuda_free"):
        if event["record"] == "cuda_free":
            live.pop(event["address"], None)
        elif not event["result"] and event["device"] is not None and event["device"] >= 0:
            live[event["address"]] = event["size"]
    return sum(live.values())


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
    rows = {"pytorch": peak["reserved"], "cuda": 6 * MIB, "runtime": CONTEXT,
            "other_processes": OTHERS, "unexplained": UNOWNED}
    equal("rows of the balance", {row: balance[row] for row in rows}, rows)
    equal("their sum", balance["used"], sum(rows.values()))
    (part,) = balance["by_library"]
    equal("beside PyTorch", (part["name"].split()[0], part["bytes"]), ("beside.py:10", 6 * MIB))
    page = harness.must_run([harness.MEMTAP, "report", path]).stdout
    for row in ("PyTorch's segments", "other CUDA allocations", "beside.py:10", "CUDA context and modules",
                "other processes", "unexplained"):
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
    equal("what this process has, by NVML", last["own"], taken)
    equal("what CUDA gave, and the context", taken, live_bytes(trace) + CONTEXT)
    equal("PyTorch's segments are all of that", live_bytes(trace), reserved)
    harness.finish()


main()
