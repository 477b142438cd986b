# SPDX-License-Identifier: Apache-2.0
"""The scripts that run out of memory: they die of it, and the trace says how much was wanted, with
how much allocated and reserved, and agrees with PyTorch up to then."""
import json

import harness
import totals
from harness import MEMTAP, check, equal, last_before

GPU = "rtx4090"
# Script, the bytes that were too many, by hand, and the least and the most part of what is reserved
# that is free then.
CASES = [
    # A clip of 16 frames of 3 x 576 x 576 in fp16.
    ("fragmentation_oom.py", 2 * 16 * 3 * 576**2, 0.5, 0.6),
    # 512 images, 256 channels of 28 x 28 in fp32.
    ("plain_oom.py", 4 * 512 * 256 * 28**2, 0, 0.05),
]


def test(script, wanted, least, most):
    with harness.folder() as work:
        path, phases = harness.record(work, script, gpu=GPU, ends=1)
        trace = harness.Trace(path)
        told = json.loads(harness.must_run([MEMTAP, "oom", "--format", "json", path]).stdout)
    totals.compare(trace, phases)
    ooms = trace.of("oom")
    if not equal(f"{script}: times out of memory", len(ooms), 1):
        return
    (oom,) = ooms
    equal(f"{script}: bytes that were wanted", oom["size"], wanted)
    blocks, cuda = trace.of("alloc", "free"), trace.of("cuda_malloc", "cuda_free")
    allocated = totals.replay(blocks)[last_before(blocks, oom["time_ns"])]
    reserved = totals.segments(cuda)[last_before(cuda, oom["time_ns"])]
    equal(f"{script}: allocated then", oom["allocated"], allocated)
    equal(f"{script}: reserved then", oom["reserved"], reserved)
    free = 1 - allocated / reserved
    check(least <= free <= most, f"{script}: {free:.1%} of what is reserved is free")
    for key, value in (("requested", wanted), ("allocated", allocated), ("reserved", reserved),
                       ("phase", "forward"), ("pool", "large")):
        equal(f"{script}: {key}", told[key], value)
    equal(f"{script}: free pieces", sum(pool["free"] for pool in told["pools"].values()),
          reserved - allocated)
    check(told["largest_free"] < wanted, f"{script}: no piece was large enough")
    equal(f"{script}: would fit in expandable segments", told["would_fit_expandable"],
          reserved - allocated >= wanted)
    equal(f"{script}: missed by", told["missed_by"], max(0, wanted - (reserved - allocated)))
    equal(f"{script}: categories", sum(told["categories"].values()), allocated)
    if least:
        check(told["pinned_by"] and told["pinned_by"][0]["free"] > free / 2 * reserved,
              f"{script}: {told['pinned_by']} keep half of what is free")
        equal(f"{script}: whose line", told["pinned_by"][0]["line"]["function"], "Features.forward")
    equal(f"{script}: went on", [oom["went_on"] for oom in told["all"]], [False])


def main():
    harness.need_torch()
    for case in CASES:
        test(*case)
    harness.finish()


main()
