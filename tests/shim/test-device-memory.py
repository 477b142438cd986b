# SPDX-License-Identifier: Apache-2.0
"""test-device-memory.py MEMTAP PROGRAM: what a trace says of the whole device is exactly what the
program's calls took of it, and the context."""
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import equal, finish

memtap, program = sys.argv[1:]
MIB = 1 << 20
CONTEXT, POOL = 300 * MIB, 32 * MIB  # a pool takes pieces of 32 MiB
HELD = (6 + 20 + 4) * MIB + POOL
OTHERS, UNOWNED = 700 * MIB, 90 * MIB
STREAM, CODE = 2 * MIB, 6 * MIB
SINCE = ("contexts_since", "modules_since", "module_bytes_since", "streams_since", "communicators_since")


def read(trace):
    listing = subprocess.run([memtap, "dump", "--format", "json", trace], check=True, text=True,
                             stdout=subprocess.PIPE)
    events = [json.loads(line) for line in listing.stdout.splitlines()]
    equal("said so", [event["text"] for event in events if event.get("text") == "device_memory=yes"],
          ["device_memory=yes"])
    return [event for event in events if "time_ns" in event]


def record(mode, look=read):
    """The events of each process, in the order of their numbers of events."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([memtap, "run", "--simulate", "t4", "--output", directory + "/%p.mtap", "--",
                        program, *([mode] if mode else [])], check=True,
                       env={**os.environ, "CUDASIM_CONTEXT": str(CONTEXT),
                            "CUDASIM_STREAM": str(STREAM), "CUDASIM_OTHERS": str(OTHERS), "CUDASIM_UNOWNED": str(UNOWNED)})
        return sorted(map(look, glob.glob(directory + "/*.mtap")), key=len)


def taken(event):
    """What this process has."""
    equal("all of it", event["own"] + OTHERS + UNOWNED, event["total"] - event["free"])
    equal("others", event["others"], OTHERS)
    return event["own"]


def check(what, events, wanted):
    equal(what, [taken(event) for event in events if event["record"] == "device_memory"], wanted)


def runtime(trace):
    """The rows of the report that say what the context is, and what came to it."""
    done = subprocess.run([memtap, "report", trace], check=True, text=True, stdout=subprocess.PIPE)
    rows = [" ".join(line.split()[:-2]) for line in done.stdout.splitlines()]
    return [row for row in rows if row.startswith(("CUDA context", "at the first sample", "since"))]


def balance(trace):
    """The report's table for the peak."""
    done = subprocess.run([memtap, "report", "--format", "json", trace], check=True,
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)["devices"][0]["balance"]


def at_end(mode, wanted):
    """At a program's end memtap waits for NVML for 0.5 s, which are over at once on a busy machine: it is
    tried three times."""
    for _ in range(3):
        (events,) = record(mode)
        if [event["own"] for event in events if event["record"] == "device_memory"] == wanted:
            break
    check(mode, events, wanted)


FIRST = CONTEXT + HELD + 48 * MIB
at_end("", [CONTEXT + HELD])
check("long", *record("long"), [FIRST, CONTEXT + HELD])
check("more", *record("more"), [FIRST, FIRST + 16 * MIB, CONTEXT + HELD])
check("sample", *record("sample"), [FIRST, CONTEXT + HELD, CONTEXT + HELD - 6 * MIB])
at_end("fails", [FIRST, FIRST])
child, parent = record("fork")
check("child", child, [FIRST + 8 * MIB])
check("its parent", parent, [FIRST, CONTEXT + HELD])

(table,) = record("more", balance)
wanted = {"pytorch": 0, "cuda": (48 + 6 + 10 + 20 + 4 + 16) * MIB, "runtime": CONTEXT + 22 * MIB,
          "other_processes": OTHERS, "unexplained": UNOWNED}
equal("balance", {row: table[row] for row in wanted}, wanted)
equal("its sum", table["used"], sum(wanted.values()))
equal("by library", sum(part["bytes"] for part in table["by_library"]), table["cuda"])
equal("its parts", table["runtime_parts"],
      {"first": CONTEXT + 22 * MIB, "since": 0, "contexts": 0, "modules": 0, "module_bytes": 0,
       "streams": 0, "communicators": 0, **dict.fromkeys(SINCE, 0)})
((table, rows),) = record("objects", lambda trace: (balance(trace), runtime(trace)))
equal("with a module and streams", table["runtime_parts"],
      {"first": CONTEXT + 22 * MIB, "since": CODE + 2 * STREAM, "contexts": 0, "modules": 1,
       "module_bytes": CODE, "streams": 2, "communicators": 0, **dict(zip(SINCE, (0, 1, CODE, 2, 0)))})
equal("in words", rows, ["CUDA context and modules 332.00 MiB", "at the first sample 322.00 MiB",
                         "since: 1 module (6.00 MiB), 2 streams 10.00 MiB"])

# NVML takes over 64 MiB of address space, which a program near its limit (ulimit -v) needs itself; this one gets too
# little, whoever asks.
with tempfile.TemporaryDirectory() as directory:
    subprocess.run([memtap, "run", "--simulate", "t4", "--output", directory + "/t.mtap", "--", "bash", "-c",
                    f"ulimit -v 900000; exec {program}"], check=False)
    info = subprocess.run([memtap, "info", directory + "/t.mtap"], check=True, text=True, stdout=subprocess.PIPE).stdout
    equal("near the limit", "no: the address space is limited" in info, True)
finish()
