# SPDX-License-Identifier: Apache-2.0
"""test-cuda-calls.py MEMTAP PROGRAM NESTED COPIES...: each CUDA call that gives or takes memory, copies or
sets it is one record of the trace, by whatever route the program got at the function, on the simulated
device."""
import json
import os
import subprocess
import sys
import tempfile

memtap, program, nested, *copies = sys.argv[1:]
faults = []


def record(command):
    """What the program prints, and its trace's records as it would print them."""
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "t.mtap")
        ran = subprocess.run([memtap, "run", "--simulate", "t4", "--output", trace, "--", *command],
                             text=True, stdout=subprocess.PIPE, check=True)
        listing = subprocess.run([memtap, "dump", "--format", "json", trace], check=True, text=True,
                                 stdout=subprocess.PIPE)
    events = [json.loads(line) for line in listing.stdout.splitlines()]
    events = [event for event in events if event["record"].startswith("cuda_")]
    return ran.stdout.splitlines(), events


def as_line(event):
    return f"{event['record']} {event['api']} {event.get('size', 0)}"


def check(what, expected, found):
    for line in expected:
        if line.startswith("failed"):
            faults.append(f"{what}: {line}")
    for number, (want, have) in enumerate(zip(expected, found)):
        if want != have:
            faults.append(f"{what}: record {number} is {have}, not {want}")
            break
    if len(expected) != len(found):
        faults.append(f"{what}: {len(found)} records, not {len(expected)}")


def check_life(what, events):
    """What is freed was allocated before, at the same address and in the same kind of memory."""
    live = set()
    for event in events:
        if event["record"].startswith("cuda_malloc") and not event.get("result"):
            live.add(event["address"])
        elif event["record"] in ("cuda_free", "cuda_free_async"):
            if event["address"] not in live:
                faults.append(f"{what}: {event} frees what was not there")
            live.discard(event["address"])
    if live:
        faults.append(f"{what}: still live: {live}")


for route in ("linked", "dlsym", "lookup", "runtime"):
    for calls in [program, *copies]:
        expected, events = record([calls, route])
        check(route, expected, [as_line(event) for event in events])
        check_life(route, events)
        print(f"{route}: {len(events)} records")

# A runtime that asks the driver: the runtime's call is the record.
expected, events = record([sys.executable, "-c",
                           f"import ctypes; ctypes.CDLL({os.path.abspath(nested)!r}).run()"])
check("nested", expected, [as_line(event) for event in events])
print("\n".join(faults) or "all as they should be")
sys.exit(bool(faults))
