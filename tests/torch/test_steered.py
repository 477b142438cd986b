# SPDX-License-Identifier: Apache-2.0
"""Lines whose sizes, branches and loops hang on values: with few values each gives on the simulated card what it gives on the
host, with many the same, or it says at its line that a value was not computed."""
import json
from pathlib import Path

import harness
from harness import MEMTAP, check, equal

PROGRAM = Path(__file__).resolve().parent / "steered.py"
# What is made up, and so known (docs/evaluation/simulated-runs.md): values are finite, a choice is any of them and no end of a text.
MADE_UP = {"finds_nan": False, "clips_or_raises": "clipped", "sampling_loop": 20}
SAME_SHAPE = {"is_in_as_many", "checks_of_a_distribution", "asserts_all", "sums_of_segments", "most_frequent", "most_frequent_of_few_long_rows"}  # whatever the values: they end
AT_LEAST_THE_HOSTS = {"draws_by_policy"}  # any of 60,000


def asked(trace):
    """The functions on the stacks of values that were not computed."""
    texts, frames, stacks, found = {}, {}, {}, set()
    for text in harness.must_run([MEMTAP, "dump", "-f", "json", trace]).stdout.splitlines():
        record = json.loads(text)
        of = {"string": texts, "frame": frames, "stack": stacks}.get(record["record"])
        if of is not None:
            of[record["id"]] = record
        elif record["record"] == "unknown_value":
            at = record["stack"]
            while at:
                found.add(texts[frames[stacks[at]["frame"]]["function"]]["text"])
                at = stacks[at]["parent"]
    return found


def main():
    if harness.ON_GPU:
        harness.skip("a real card computes all values")
    harness.need_torch()
    with harness.folder() as work:
        trace = Path(work) / "steered.mtap"
        lines = json.loads(harness.fork(trace, PROGRAM).splitlines()[-1])
        said = asked(trace)
    check(len(lines) > 80, f"only {len(lines)} lines")
    for name, line in lines.items():
        equal(f"{name}, few values", line["few"][1], line["few"][0])
        host, device = line["many"]
        if name in AT_LEAST_THE_HOSTS and isinstance(device, int):
            check(device >= host, f"{name}: {device!r} is less than {host!r}")
        elif name not in said or name in SAME_SHAPE:
            equal(f"{name}, many values, and nothing is said", device, MADE_UP.get(name, host))
    harness.finish()


main()
