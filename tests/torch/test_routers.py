# SPDX-License-Identifier: Apache-2.0
"""A router's choices are counted however large they are: by each way of counting every expert gets its tokens, and
routers load them alike."""
import json
from pathlib import Path

import harness
from harness import MEMTAP, PYTHON, check, equal

PROGRAM = Path(__file__).resolve().parent / "routers.py"
EXPERTS, PICKS = 16, 2
LARGE = 300000  # choices of more than the card copies, 1 MiB, and a one-hot of more than 64 MiB


def counts(tokens, *options):
    done = harness.must_run([MEMTAP, "simulate", *options, "--", PYTHON, PROGRAM, str(tokens)])
    check("on values that are not simulated" not in done.stderr, f"{tokens} tokens: {done.stderr}")
    return json.loads(done.stdout)


def main():
    if harness.ON_GPU:
        harness.skip("a real card computes all values")
    harness.need_torch()
    for tokens in (6001, LARGE):
        wanted = [(tokens * PICKS + i) // EXPERTS for i in reversed(range(EXPERTS))]
        for name, loads in counts(tokens).items():  # a router that is computed again has the same
            equal(f"{name}, {tokens} tokens", loads, wanted)
    for name, loads in counts(6000, "--skew", "zipf:1").items():
        equal(f"{name}, skewed: choices", sum(loads), 6000 * PICKS)
        check(loads == sorted(loads, reverse=True) and loads[0] > 2 * loads[-1], f"{name}, skewed: {loads}")
    harness.finish()


main()
