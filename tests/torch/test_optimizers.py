# SPDX-License-Identifier: Apache-2.0
"""Every tensor in an optimizer's state is called so, with the name that the optimizer has for it, and
belongs to the module of its parameter; what is of all parameters together belongs to none."""
import json
from pathlib import Path

import harness
from harness import MEMTAP, PYTHON, check, equal

PROGRAM = Path(__file__).resolve().with_name("optimizers.py")


def blocks_at(trace, time_ns):
    done = harness.must_run([MEMTAP, "blocks", "--format", "json", "--at", f"{time_ns}ns", trace])
    return {block["address"]: block for device in json.loads(done.stdout)["devices"]
            for block in device["blocks"]}


def compare(what, tensors, blocks, category):
    check(tensors, f"{what} has tensors")
    for address, module, name in tensors:
        block = blocks.get(address)
        if not check(block, f"{what}: {name} of {module} is in a block"):
            continue
        equal(f"{what}: category of {name} of {module}", block["category"], category)
        equal(f"{what}: module of {name}", block["module"], module)
        equal(f"{what}: name of {name} of {module}", block["name"], name)


def main():
    harness.need_torch()
    with harness.folder() as work:
        trace, log = Path(work) / "trace.mtap", Path(work) / "log.json"
        # LBFGS ends early where the gradients that it reads are all zero, as uncomputed ones are.
        values = [] if harness.ON_GPU else ["--values", "0"]
        harness.must_run([*harness.recorded(trace, *values), PYTHON, PROGRAM, log])
        info = json.loads(harness.must_run([MEMTAP, "info", "--format", "json", trace]).stdout)
        start = int(info["process"]["start_monotonic_ns"])
        for run in map(json.loads, log.read_text().splitlines()):
            blocks = blocks_at(trace, run["time_ns"] - start)
            print(run["optimizer"], len(run["state"]), "tensors")
            compare(run["optimizer"], run["state"], blocks, "optimizer_state")
            compare(run["optimizer"], run["gradients"], blocks, "gradients")
    harness.finish()


main()
