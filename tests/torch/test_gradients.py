# SPDX-License-Identifier: Apache-2.0
"""What a leaf keeps as its .grad is called a gradient, whoever put it there: a view of a flat buffer, a piece
of a bucket, DDP's and FSDP's, a sparse one, and one that a hook works on when the trace ends."""
import json
from pathlib import Path

import harness
from harness import MEMTAP, check, equal

PROGRAM = Path(__file__).with_name("gradients.py")
KINDS = ["flat", "data", "buckets", "sharded", "hook", "sparse"]


def block_of(address, blocks):
    for block in blocks:
        if block["address"] <= address < block["address"] + block["size"]:
            return block["category"], block["rule"]
    return None


def check_moment(kind, trace, time_ns, addresses):
    done = harness.must_run([MEMTAP, "blocks", "--format", "json", "--at", f"{time_ns}ns", trace])
    blocks = [block for device in json.loads(done.stdout)["devices"] for block in device["blocks"]]
    found = {block_of(address, blocks) for address in addresses}
    rule = "allocated where a leaf's gradient accumulates, outlived it" if kind == "sparse" else "kept as a leaf's gradient"
    equal(kind, found, {("gradients", rule)})


def main():
    harness.need_torch()
    with harness.folder() as work, harness.Forks(PROGRAM) as forks:
        for kind in KINDS:
            trace = Path(work) / f"{kind}.mtap"
            code, output = forks.run(trace, PROGRAM, kind)
            if kind == "sharded" and "cannot import name 'fully_shard'" in output:
                continue  # PyTorch before 2.6
            if not check(code == 0, f"{kind} runs"):
                print(output)
                continue
            moments = [list(map(int, line.split())) for line in output.splitlines() if line[:1].isdigit()]
            check(len(moments) >= 6 and all(map(len, moments)), f"{kind} tells where its gradients are")
            whole = harness.Trace(trace)
            for time_ns, *addresses in moments:  # one may be told after the last event: the program ends at once
                check_moment(kind, trace, min(time_ns - whole.start, whole.events[-1]["time_ns"]), addresses)
    harness.finish()


main()
