# SPDX-License-Identifier: Apache-2.0
"""FSDP's parameters are called so, whether they are sharded or not just then, in forward, backward and where
the program asks for it; a compact copy says the same."""
import json
from pathlib import Path

import harness
from harness import MEMTAP, check

PROGRAM = Path(__file__).with_name("unsharded.py")


def category_of(address, blocks):
    for block in blocks:
        if block["address"] <= address < block["address"] + block["size"]:
            return block["category"]
    return None


def check_moment(what, trace, time_ns, addresses):
    done = harness.must_run([MEMTAP, "blocks", "--format", "json", "--at", f"{time_ns}ns", trace])
    blocks = [block for device in json.loads(done.stdout)["devices"] for block in device["blocks"]]
    sizes = {}
    for address in addresses:
        category = category_of(address, blocks)
        sizes[category] = sizes.get(category, 0) + 1
    check(set(sizes) == {"parameters"}, f"{what}: {sizes} of {len(addresses)} parameters")


def categories(trace):
    done = harness.must_run([MEMTAP, "report", "--format", "json", trace])
    return json.loads(done.stdout)["devices"][0]["peak"]["categories"]


def main():
    harness.need_torch()
    with harness.folder() as work, harness.Forks(PROGRAM) as forks:
        for kind in ["1", "2"]:
            trace, copy = Path(work) / f"{kind}.mtap", Path(work) / f"copy-{kind}.mtap"
            code, output = forks.run(trace, PROGRAM, kind)
            if "cannot import name 'fully_shard'" in output:
                continue  # PyTorch before 2.6
            if not check(code == 0, f"FSDP{kind} runs"):
                print(output)
                continue
            moments = [list(map(int, line.split())) for line in output.splitlines() if line[:1].isdigit()]
            check(len(moments) > 15 and all(map(len, moments)), f"FSDP{kind} tells where its parameters are")
            start = harness.Trace(trace).start
            for time_ns, *addresses in moments:
                check_moment(f"FSDP{kind}", trace, time_ns - start, addresses)
            harness.must_run([MEMTAP, "compact", "-o", copy, trace])
            harness.equal(f"FSDP{kind}, compact", categories(copy), categories(trace))
    harness.finish()


main()
