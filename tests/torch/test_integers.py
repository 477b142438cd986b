# SPDX-License-Identifier: Apache-2.0
"""Integers and truth values of up to 1 MiB that follow from known ones alone are computed, by whatever operator: sizes are as on
the host, and none hangs on unknown values."""
import json
from pathlib import Path

import harness
from harness import MEMTAP, PYTHON, check, equal

PROGRAM = Path(__file__).resolve().parent / "integers.py"


def main():
    if harness.ON_GPU:
        harness.skip("a real card computes all values")
    harness.need_torch()
    done = harness.must_run([MEMTAP, "simulate", "--", PYTHON, PROGRAM])
    for name, (host, device) in json.loads(done.stdout).items():
        equal(name, device, host)
    check("depend on values" not in done.stderr, done.stderr)
    harness.finish()


main()
