# SPDX-License-Identifier: Apache-2.0
"""A program that does with PyTorch what might upset a profiler says the same with memtap, and its
trace is whole: nothing lost, labels on, PyTorch's totals kept, each thread's nodes well nested."""
from pathlib import Path

import harness
from harness import PYTHON, check, equal

PROGRAM = Path(__file__).resolve().parent / "many_kinds.py"


def nesting_faults(trace):
    running, faults = {}, 0
    for event in trace.of("node_begin", "node_end"):
        stack = running.setdefault(event["thread"], [])
        if event["record"] == "node_begin":
            stack.append(event["node"])
        elif not stack or stack.pop() != event["node"]:
            faults += 1
    return faults + sum(map(len, running.values()))


def main():
    harness.need_torch()
    with harness.folder() as work:
        path = Path(work) / "trace.mtap"
        alone = harness.must_run([*harness.alone(), PYTHON, PROGRAM])
        traced = harness.must_run([*harness.recorded(path), PYTHON, PROGRAM])
        trace = harness.Trace(path)
        equal("standard output", traced.stdout, alone.stdout)
        equal("events lost", trace.end["lost"], 0)
        equal("labels", trace.info["labels"], "yes")
        equal("Python stacks", trace.info["python_stacks"], "yes")
        equal("nodes that begin and end apart", nesting_faults(trace), 0)
        check(trace.of("oom"), "the out-of-memory that the program caught is in the trace")
        allocated = 0
        for event in trace.of("alloc", "free"):
            allocated += event["size"] if event["record"] == "alloc" else -event["size"]
            if event["allocated"] != allocated:
                equal(f"allocated at {event['time_ns']} ns", event["allocated"], allocated)
                break
    harness.finish()


main()
