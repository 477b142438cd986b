# SPDX-License-Identifier: Apache-2.0
"""What an optimizer works on in the place of parameters, which its state names outside of steps too, and what
libraries keep as attributes of parameters and optimizers, has its category."""
import json
from pathlib import Path

import harness
from harness import MEMTAP, PYTHON, check, equal

PROGRAM = Path(__file__).with_name("partitions.py")


def main():
    harness.need_torch()
    with harness.folder() as work:
        trace = Path(work) / "partitions.mtap"
        done = harness.must_run([*harness.recorded(trace), PYTHON, PROGRAM])
        moments = [line.split() for line in done.stdout.splitlines() if line[:1].isdigit()]
        check(len(moments) == 3, "the program tells where its tensors are")
        whole = harness.Trace(trace)
        start = whole.start
        # A master copy, which the optimizer updates in the place of parameters that live elsewhere, is its state.
        flat = "optimizer_state"
        for time_ns, *tensors in moments:
            done = harness.must_run([MEMTAP, "blocks", "--format", "json", "--at",
                                     f"{int(time_ns) - start}ns", trace])
            found = {block["address"]: block["category"] for device in json.loads(done.stdout)["devices"]
                     for block in device["blocks"]}
            wanted = {int(address): flat if category == "flat" else category for category, address in (t.split(":") for t in tensors)}
            equal("categories", {address: found.get(address) for address in wanted}, wanted)
    harness.finish()


main()
