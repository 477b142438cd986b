# SPDX-License-Identifier: Apache-2.0
"""test-device-memory.py MEMTAP PROGRAM: what a trace says of the whole device is exactly what the
program's calls took of it, and the context."""
import glob
import json
import os
import subprocess
import sys
import tempfile

memtap, program = sys.argv[1:]
MIB = 1 << 20
CONTEXT, POOL = 300 * MIB, 32 * MIB  # a pool takes pieces of 32 MiB
HELD = (6 + 20 + 4) * MIB + POOL
faults = []


def equal(what, found, wanted):
    if found != wanted:
        faults.append(f"{what}: {found}, not {wanted}")


def read(trace):
    listing = subprocess.run([memtap, "dump", "--format", "json", trace], check=True, text=True,
                             stdout=subprocess.PIPE)
    events = [json.loads(line) for line in listing.stdout.splitlines()]
    equal("said so", [event["text"] for event in events if event.get("text") == "device_memory=yes"],
          ["device_memory=yes"])
    return [event for event in events if "time_ns" in event]


def record(mode):
    """The events of each process, in the order of their numbers of events."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([memtap, "run", "--simulate", "t4", "--output", directory + "/%p.mtap", "--",
                        program, *([mode] if mode else [])], check=True,
                       env={**os.environ, "CUDASIM_CONTEXT": str(CONTEXT)})
        return sorted(map(read, glob.glob(directory + "/*.mtap")), key=len)


def taken(event):
    equal("own", event["own"], event["total"] - event["free"])
    equal("others", event["others"], 0)
    return event["total"] - event["free"]


def check(what, events, wanted):
    samples = [event for event in events if event["record"] == "device_memory"]
    equal(f"{what}: samples", [taken(sample) for sample in samples], wanted)
    equal(f"{what}: devices", {sample["device"] for sample in samples}, {0})
    equal(f"{what}: threads", {sample["thread"] for sample in samples}, {0})
    times = [event["time_ns"] for event in events]
    equal(f"{what}: times in order", times, sorted(times))


FIRST = CONTEXT + HELD + 48 * MIB
check("short", *record(""), [CONTEXT + HELD])
check("long", *record("long"), [FIRST, CONTEXT + HELD])
child, parent = record("fork")
check("child", child, [FIRST + 8 * MIB])
check("its parent", parent, [FIRST, CONTEXT + HELD])
print("\n".join(faults) or "the device is accounted for to the byte")
sys.exit(bool(faults))
