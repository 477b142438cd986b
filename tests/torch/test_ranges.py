# SPDX-License-Identifier: Apache-2.0
"""Ranges that a program of PyTorch names are in the report, recorded with LD_PRELOAD alone: its own
(torch.cuda.nvtx), backward's inside them, and those of emit_nvtx."""
import json
from pathlib import Path

import harness
from harness import PYTHON, check, equal

PROGRAM = Path(__file__).resolve().parent / "ranges.py"
STATE = 2 * 2 * (512 * 512 + 512) * 4  # two moments of two layers


def report(path, *options):
    done = harness.must_run([harness.MEMTAP, "report", "--format", "json", *options, path])
    return json.loads(done.stdout)


def main():
    harness.need_torch()
    shim = harness.must_run([harness.MEMTAP, "lib"]).stdout.strip()
    with harness.folder() as work:
        path = Path(work) / "t.mtap"
        harness.must_run([*harness.alone(), PYTHON, PROGRAM],
                         env={"LD_PRELOAD": shim, "MEMTAP_OUTPUT": path,
                              "NVTX_INJECTION64_PATH": None})
        if "range_push" not in harness.must_run([harness.MEMTAP, "dump", path]).stdout:
            harness.skip("this PyTorch's NVTX is a library that the simulated device stands in for")
        whole = report(path, "--by", "range")
    (device,) = whole["devices"]
    times = {" > ".join(row["range"]): row["times"] for row in device["ranges"]}
    for name in ("train", "train > forward", "train > backward", "train > optimizer"):
        equal(f"times of {name}", times.get(name), 3)
    check(any(name.startswith("aten::") for name in times), f"no operator's range in {list(times)}")
    equal("marks", [(mark["mark"], mark["times"]) for mark in whole["marks"]], [("a step ends", 3)])
    kept = {group["name"]: group["bytes"] for group in device["groups"]["groups"]}
    made = kept.get("train > optimizer", 0)
    check(STATE <= made < STATE + 8 * 1024, f"{made} bytes of the optimizer's, not {STATE}")
    harness.finish()


main()
