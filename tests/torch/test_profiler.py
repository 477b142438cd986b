# SPDX-License-Identifier: Apache-2.0
"""torch.profiler inside a recorded process tells the same as without memtap, also where CUPTI was
memtap's before: CUPTI has one subscriber. The trace is the same as without the profiler."""
import json

import harness
from harness import check, equal

SCRIPT = """
import collections, json, sys, torch
from torch.profiler import ProfilerActivity, profile

model = torch.nn.Linear(64, 64).cuda()

def step():
    model(torch.randn(8, 64, device="cuda")).sum().backward()

step()
if sys.argv[1] == "profiled":
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        step()
    counts = collections.Counter(event.name for event in seen.events())
    print("events", json.dumps(sorted(counts.items())))
else:
    step()
"""
GIVEN_UP = "used until another client requested it"


def main():
    harness.need_torch()
    with harness.folder() as work:
        script = f"{work}/script.py"
        with open(script, "w", encoding="utf-8") as out:
            out.write(SCRIPT)

        def events_of(done):
            return [json.loads(line[7:]) for line in done.stdout.splitlines()
                    if line.startswith("events ")]

        def record(*words, cupti):
            with harness.folder() as place:
                path = f"{place}/trace.mtap"
                done = harness.must_run([*harness.recorded(path, "--cupti", cupti), *words])
                check("CUPTI_ERROR" not in done.stderr, f"CUPTI refused: {done.stderr}")
                return done, harness.Trace(path)

        wanted = events_of(harness.must_run([*harness.alone(), harness.PYTHON, script, "profiled"]))
        check(wanted and len(wanted[0]) > 10, f"the profiler sees operators: {wanted}")
        _, plain = record(harness.PYTHON, script, "plain", cupti="on")
        equal("without a profiler", plain.info["cupti"], "used")
        for cupti, status in (("auto", "not needed"), ("on", GIVEN_UP)):
            done, trace = record(harness.PYTHON, script, "profiled", cupti=cupti)
            equal(f"{cupti}: what the profiler saw", events_of(done), wanted)
            equal(f"{cupti}: status", trace.info["cupti"], status)
            blocks = [event["size"] for event in trace.of("alloc")]
            equal(f"{cupti}: blocks", blocks, [event["size"] for event in plain.of("alloc")])
            segments = [event["size"] for event in trace.of("cuda_malloc")]
            equal(f"{cupti}: segments", segments,
                  [event["size"] for event in plain.of("cuda_malloc")])
    harness.finish()


main()
