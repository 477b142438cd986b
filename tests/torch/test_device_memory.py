# SPDX-License-Identifier: Apache-2.0
"""The whole device, as NVML tells it at the end of a training loop: the context, PyTorch's segments,
and what was allocated beside them, to the byte."""
import os

import harness
from harness import equal

MIB = 1 << 20
CONTEXT = 400 * MIB


def live_bytes(trace):
    live = {}
    for event in trace.of("cuda_malloc", "cuda_free"):
        if event["record"] == "cuda_free":
            live.pop(event["address"], None)
        elif not event["result"] and event["device"] is not None and event["device"] >= 0:
            live[event["address"]] = event["size"]
    return sum(live.values())


def main():
    harness.need_torch()
    os.environ["CUDASIM_CONTEXT"] = str(CONTEXT)
    with harness.folder() as work:
        path, phases = harness.record(work, "linear_loop.py")
        trace = harness.Trace(path)
    last = trace.of("device_memory")[-1]
    taken, reserved = last["total"] - last["free"], trace.of("alloc", "free")[-1]["reserved"]
    equal("what this process has, by NVML", last["own"], taken)
    equal("what CUDA gave, and the context", taken, live_bytes(trace) + CONTEXT)
    equal("PyTorch's segments are all of that", live_bytes(trace), reserved)
    harness.finish()


main()
