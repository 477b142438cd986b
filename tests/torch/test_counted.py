# SPDX-License-Identifier: Apache-2.0
"""A report counts each parameter once, whatever copies of it and parts of it live: at the peak, in forward and after
each kind of phase; a compact copy says the same."""
import json
from pathlib import Path

import harness
from harness import MEMTAP, check, equal

PROGRAM = Path(__file__).with_name("counted.py")
# What each has besides weights, gradients and an optimizer's state, and how much of the weights is here.
WAYS = {"masters": ({"master_weights"}, 1), "parameters": ({"master_weights"}, 1),
        "average": ({"copies_of_weights"}, 1), "shadows": ({"copies_of_weights"}, 1),
        "fsdp1": ({"gathered_weights"}, 4), "fsdp2": ({"gathered_weights"}, 4),
        "uneven": ({"gathered_weights"}, 4), "zero1": ({"master_weights"}, 1),
        "zero3": ({"gathered_weights", "master_weights"}, 4)}


def precision(trace, *at):
    done = harness.must_run([MEMTAP, "report", "--format", "json", *at, trace])
    return json.loads(done.stdout)["devices"][0]["precision"]


def last(trace, kind):
    """The time of the last event of a kind."""
    return [event["time_ns"] for event in trace.events if event["record"] == kind][-1]


def check_way(way, trace, copy, wanted):
    besides, parts = WAYS[way]
    whole = harness.Trace(trace)
    if not whole.info["dtypes"].startswith("yes"):
        return  # PyTorch before 2.2 does not tell how many elements a tensor has
    peak = precision(trace)
    roles = {role["role"] for role in peak["roles"]} - {"weights", "gradients", "optimizer_state"}
    equal(f"{way}: parameters", peak["parameters"], wanted)
    equal(f"{way}: besides weights there are", roles, besides)
    check(wanted <= peak["here"] * parts <= wanted + 8192, f"{way}: {peak['here']} are here of {wanted}")
    for kind in ["saved", "node_end"]:
        equal(f"{way}: parameters at the last {kind}",
              precision(trace, "--at", f"{last(whole, kind)}ns")["parameters"], wanted)
    harness.must_run([MEMTAP, "compact", "-o", copy, trace])
    equal(f"{way}, compact", precision(copy), peak)


def main():
    harness.need_torch()
    with harness.folder() as work, harness.Forks(PROGRAM) as forks:
        for way in WAYS:
            trace = Path(work) / f"{way}.mtap"
            code, output = forks.run(trace, PROGRAM, way)
            if "cannot import name 'fully_shard'" in output:
                continue  # PyTorch before 2.6
            if check(code == 0, f"{way} runs:\n{output}"):
                check_way(way, trace, Path(work) / f"copy-{way}.mtap", int(output.splitlines()[0]))
    harness.finish()


main()
