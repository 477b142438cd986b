# SPDX-License-Identifier: Apache-2.0
"""Parameters that a step creates again, for a module that torch.func runs with them, are parameters at every moment; the
state and the gradients next to them are not."""
import json
from collections import Counter
from pathlib import Path

import harness
from harness import MEMTAP, check, equal, must_run

PROGRAM = Path(__file__).resolve().with_name("functional.py")
WAYS = ("transformed", "adam", "differentiated", "ensemble", "adapted", "per_example")


def told(command, trace, *options):
    return json.loads(must_run([MEMTAP, command, "--format", "json", *options, trace]).stdout)


def compare(way, trace, start, time_ns, tensors):
    devices = told("blocks", trace, "--at", f"{time_ns - start}ns")["devices"]
    blocks = {block["address"]: block["category"] for device in devices for block in device["blocks"]}
    found = Counter((wanted, blocks.get(address)) for address, wanted in tensors)
    equal(f"{way}, {time_ns - start} ns: what is taken for something else",
          {pair: n for pair, n in found.items() if pair[0] != pair[1]}, {})


def main():
    harness.need_torch()
    with harness.folder() as folder, harness.Forks(PROGRAM) as forks:
        for way in WAYS:
            trace, log = Path(folder) / f"{way}.mtap", Path(folder) / f"{way}.json"
            code, output = forks.run(trace, PROGRAM, way, log)
            if not equal(f"{way}: exit code", code, 0):
                print(output)
                continue
            start = int(told("info", trace)["process"]["start_monotonic_ns"])
            moments = [json.loads(line) for line in log.read_text().splitlines()]
            check(moments, f"{way} says what is where")
            for time_ns, tensors in moments:
                compare(way, trace, start, time_ns, tensors)
    harness.finish()


main()
