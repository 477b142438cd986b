# SPDX-License-Identifier: Apache-2.0
"""The trace against what PyTorch's own recorder noted in the same run: the same blocks, one by one, in
the same order, with the same addresses and sizes, requests and waits for streams, and CUDA's memory below them likewise; and against
the allocator's own counts."""
import json
from pathlib import Path

import harness
import totals
from harness import check, equal

PROGRAM = Path(__file__).resolve().parent / "snapshot.py"


def agree(what, ours, theirs):
    """Both: (name, address, size) in order."""
    check(len(theirs) > 0, f"{what}: PyTorch noted some")
    for number, (own, other) in enumerate(zip(ours, theirs)):
        if own != other:
            equal(f"{what}: number {number}", own, other)
            return
    equal(f"{what}: how many", len(ours), len(theirs))
    print(f"{what}: {len(ours)} alike")


def blocks_of(trace, entries):
    """PyTorch notes the requested size, the trace the block's: up to 512 bytes more, or up
    to 1 MiB that is not worth splitting off."""
    names = {"alloc": "alloc", "free_requested": "free"}
    ours = [(e["record"], e["address"], e["size"]) for e in trace.of("alloc", "free")]
    theirs = [(names[e["action"]], e["addr"], e["size"]) for e in entries if e["action"] in names]
    for number, (own, other) in enumerate(zip(ours, theirs)):
        rest = own[2] - other[2]
        if 0 <= rest < (512 if other[2] < 1 << 20 else (1 << 20) + 512):
            theirs[number] = (*other[:2], own[2])
    return ours, theirs


def requests_of(trace, entries):
    """Requests to the allocator: sizes, streams, and when it had a block again."""
    ours, unused, stream, waits = [], 0, None, False
    for e in trace.of("alloc", "free", "request", "request_stream", "free_waits", "free_done"):
        if e["record"] == "request":
            unused = e["unused"]
        elif e["record"] == "request_stream":
            stream = e["stream"]
        elif e["record"] == "free_waits":
            waits = True
        elif e["record"] == "free_done":
            ours.append(("free_completed", e["address"]))
        elif e["record"] == "alloc":
            ours.append(("alloc", e["address"], e["size"] - unused, stream))
            unused = 0
        else:
            ours.append(("free_requested", e["address"]))
            if not waits:
                ours.append(("free_completed", e["address"]))
            waits = False
    theirs = [("alloc", e["addr"], e["size"], e["stream"]) if e["action"] == "alloc"
              else (e["action"], e["addr"]) for e in entries
              if e["action"] in ("alloc", "free_requested", "free_completed")]
    return ours, theirs


def live_of(trace, blocks):
    """Those that live at the end, with their exact sizes."""
    live = totals.live_at(trace, trace.events[-1]["time_ns"])
    return (sorted(("block", *block) for block in live.items()),
            sorted(("block", *block) for block in blocks))


def segments_of(trace, entries):
    """A cudaFree does not tell a size."""
    names = {"segment_alloc": "cuda_malloc", "segment_free": "cuda_free"}
    size = {"cuda_malloc": 1, "cuda_free": 0}
    return ([(e["record"], e["address"], e.get("size", 0))
             for e in trace.of("cuda_malloc", "cuda_free") if e["api"] in ("cudaMalloc", "cudaFree")],
            [(names[e["action"]], e["addr"], size[names[e["action"]]] * e["size"])
             for e in entries if e["action"] in names])


def mapped(pieces):
    """Pieces of address space that get and lose memory, by whatever size at a time."""
    live = set()
    for name, address, size in pieces:
        for at in range(address, address + size, 2 << 20):
            (live.add if name == "map" else live.discard)(at)
    return live


def mappings_of(trace, entries):
    ours = [(e["record"][5:], e["address"], e["size"]) for e in trace.of("cuda_map", "cuda_unmap")]
    theirs = [(e["action"][8:], e["addr"], e["size"]) for e in entries
              if e["action"] in ("segment_map", "segment_unmap")]
    return ours, theirs


def run(setting):
    print(f"{setting}:")
    with harness.folder() as work:
        path, log = Path(work) / "trace.mtap", Path(work) / "log.json"
        harness.fork(path, PROGRAM, log, env=setting)
        trace, noted = harness.Trace(path), json.loads(log.read_text())
    trace.events = trace.events[:harness.last_before(trace.events, noted["time_ns"] - trace.start) + 1]
    return trace, noted


def main():
    harness.need_torch()
    for setting in ({}, {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}):
        trace, log = run(setting)
        agree("blocks", *blocks_of(trace, log["entries"]))
        agree("requests", *requests_of(trace, log["entries"]))
        equal("requests", trace.info["requests"], "all")
        check(len(trace.of("free_waits")) > 3, "frees that wait for a stream")
        agree("live blocks", *live_of(trace, log["blocks"]))
        equal("allocations", len(trace.of("alloc")), log["allocated"])
        equal("frees", len(trace.of("free")), log["freed"])
        if setting:
            ours, theirs = mappings_of(trace, log["entries"])
            check(len(ours) > 0 and mapped(ours) == mapped(theirs), "what is mapped at the end")
            equal("bytes ever mapped", sum(s for n, _, s in ours if n == "map"),
                  sum(s for n, _, s in theirs if n == "map"))
        else:
            agree("segments", *segments_of(trace, log["entries"]))
    harness.finish()


main()
