# SPDX-License-Identifier: Apache-2.0
"""A trace's totals, by the events' own figures and by adding their sizes up, against PyTorch's
counters."""
import harness
from harness import equal, last_before


def replay(events):
    """After each event: bytes in blocks by adding up, and by the event's own totals."""
    live, total, history = {}, 0, []
    for event in events:
        address, size = event["address"], event["size"]
        if event["record"] == "alloc":
            harness.check(address not in live, f"{address:#x} is allocated once at a time")
            live[address] = size
            total += size
        else:
            equal(f"the size that is freed at {address:#x}", size, live.pop(address, None))
            total -= size
        history.append(total)
    return history


def calls(trace):
    """PyTorch's own of CUDA; libraries call the driver."""
    return [e for e in trace.of("cuda_malloc", "cuda_free") if e["api"] in ("cudaMalloc", "cudaFree")]


def segments(events):
    """Bytes that PyTorch got from CUDA, after each event."""
    live, total, history = {}, 0, []
    for event in events:
        if event["record"] == "cuda_malloc" and event["result"] == 0:
            live[event["address"]] = event["size"]
            total += event["size"]
        elif event["record"] == "cuda_free":
            total -= live.pop(event["address"], 0)
        history.append(total)
    return history


def live_at(trace, time_ns):
    """The blocks that live at a time of the trace: address -> size."""
    live = {}
    for event in trace.of("alloc", "free"):
        if event["time_ns"] > time_ns:
            break
        if event["record"] == "alloc":
            live[event["address"]] = event["size"]
        else:
            live.pop(event["address"], None)
    return live


def compare(trace, phases):
    """At every phase the trace says to the byte what PyTorch said, and it is whole."""
    blocks = trace.of("alloc", "free")
    cuda = calls(trace)
    added, reserved = replay(blocks), segments(cuda)
    for phase in phases:
        now = phase["time_ns"] - trace.start
        last, last_cuda = last_before(blocks, now), last_before(cuda, now)
        if not harness.check(last >= 0 and last_cuda >= 0, f"{phase['name']}: events before it"):
            continue
        equal(f"{phase['name']}: allocated", blocks[last]["allocated"], phase["allocated"])
        equal(f"{phase['name']}: reserved", blocks[last]["reserved"], phase["reserved"])
        equal(f"{phase['name']}: allocated, added up", added[last], phase["allocated"])
        equal(f"{phase['name']}: reserved, added up", reserved[last_cuda], phase["reserved"])
    equal("events lost", trace.of("lost"), [])
    harness.check(trace.end is not None, "the trace is closed")
    print(f"{len(phases)} phases, {len(trace.events)} events")
