# SPDX-License-Identifier: Apache-2.0
"""test-cuda-calls.py MEMTAP PROGRAM NESTED NOTICED POOLS COPIES...: each CUDA call that gives or takes memory, copies or
sets it is one record of the trace, by whatever route the program got at the function, on the simulated
device; what copies in other ways is noticed; what CUDA's memory pools have is as CUDA reports it."""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

memtap, program, nested, noticed, pools, *copies = sys.argv[1:]
faults = []
unseen = []  # the names that the last trace has
report = {}  # of the last trace
requests = []  # what it says was requested of padded rows


def record(command):
    """What the program prints, and its trace's records as it would print them."""
    unseen.clear()
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "t.mtap")
        ran = subprocess.run([memtap, "run", "--simulate", "t4", "--output", trace, "--", *command],
                             text=True, stdout=subprocess.PIPE, check=True)
        listing = subprocess.run([memtap, "dump", "--format", "json", trace], check=True, text=True,
                                 stdout=subprocess.PIPE)
        report.update(json.loads(subprocess.run([memtap, "report", "--format", "json", trace], check=True, text=True,
                                                stdout=subprocess.PIPE).stdout))
    events = [json.loads(line) for line in listing.stdout.splitlines()]
    unseen.extend(name for event in events if event["record"] == "info"
                  for name in re.findall(r"\w+", event["text"].partition("unseen_copies=")[2]))
    requests[:] = [event["requested"] for event in events if event["record"] == "host_request"]
    events = [event for event in events if event["record"].startswith("cuda_")]
    return ran.stdout.splitlines(), events


def is_of_pool(event):
    return event["record"] in ("cuda_pool", "cuda_pool_high")


def check_pools(what):
    """Each report of a pool is two records."""
    expected, events = record([pools, what])
    reports = [event for event in events if is_of_pool(event)]
    found = [f"{'own' if now['pool'] else 'default'} {int(str(now['threshold']), 0)} {now['reserved']} {now['used']} {most['reserved']} {most['used']}"
             for now, most in zip(reports[::2], reports[1::2])]
    check(f"pools, {what}", expected, found)
    default = report["devices"][0]["cuda_pools"][0]
    if not default["default"] or not default["set_by"]["function"].startswith("set_threshold"):
        faults.append(f"pools, {what}: {default}")


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
    live = collections.Counter()
    for event in events:
        if event["record"].startswith("cuda_malloc") and not event.get("result"):
            live[event["address"]] += 1  # physical memory may have several handles
        elif event["record"] in ("cuda_free", "cuda_free_async"):
            if not live[event["address"]]:
                faults.append(f"{what}: {event} frees what was not there")
            live[event["address"]] -= 1
    if +live:
        faults.append(f"{what}: still live: {+live}")


for route in ("linked", "dlsym", "lookup", "runtime"):
    for calls in [program, *copies]:
        expected, events = record([calls, route])
        events = [event for event in events if not is_of_pool(event)]
        check(route, expected, [as_line(event) for event in events])
        check_life(route, events)
        if requests != ([1000 * 30, 1000 * 60, 500 * 10] if calls == program else []):
            faults.append(f"{route}: {requests} were requested of padded rows")
        print(f"{route}: {len(events)} records")
        if unseen:
            faults.append(f"{route}: {unseen} were noticed, which are all recorded")
    expected, _ = record([noticed, route])
    if unseen != expected:
        faults.append(f"{route}: noticed {unseen}, not {expected}")
    check_pools(route)

# A runtime that asks the driver: the runtime's call is the record.
expected, events = record([sys.executable, "-c",
                           f"import ctypes; ctypes.CDLL({os.path.abspath(nested)!r}).run()"])
check("nested", expected, [as_line(event) for event in events])
print("\n".join(faults) or "all as they should be")
sys.exit(bool(faults))
