# SPDX-License-Identifier: Apache-2.0
"""What a trace says of the requests of fake-allocator.c, whose records have the layouts of PyTorch's
releases, against what the program says; and that nothing is reported for another layout."""
import os
import pathlib
import subprocess
import sys
import tempfile

import json

memtap, program = sys.argv[1:]
ROUNDS = 4000


def read_trace(path):
    """The program's words, from the trace; and the status of requests."""
    listing = subprocess.run([memtap, "dump", "--format", "json", path], check=True,
                             stdout=subprocess.PIPE)
    said, unused, stream, pool, waits, status = [], 0, None, None, 0, None
    for line in listing.stdout.decode().splitlines():
        event = json.loads(line)
        kind = event["record"]
        if kind == "info" and event["text"].startswith("requests="):
            status = event["text"].partition("=")[2]
        elif kind == "request":
            unused = event["unused"]
        elif kind == "request_stream":
            stream, pool = event["stream"], event["pool"]
        elif kind == "free_waits":
            waits = 1
        elif kind == "free_done":
            said.append(f"done {event['address']}")
        elif kind == "alloc":
            said.append(f"alloc {event['address']} {event['size'] - unused} {stream} {int(pool > 0)}")
            unused = 0
        elif kind == "free":
            said.append(f"free {event['address']} {waits}")
            waits = 0
    return said, status


def record(work, *arguments):
    trace = work / "t.mtap"
    trace.unlink(missing_ok=True)
    done = subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "LD_PRELOAD": os.environ["MEMTAP_TEST_SHIM"],
                               "MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1"})
    return done.stdout.splitlines(), *read_trace(trace)


def late_ends(lines):
    """The end of a wait is seen at the next alloc: before it, those since the one before it, by
    address; those after the last one are not seen."""
    out, ends = [], []
    for line in lines:
        if line.startswith("done"):
            ends.append(line)
            continue
        if line.startswith("alloc"):
            out += sorted(ends)
            ends = []
        out.append(line)
    return out


def test(work, padding):
    program_said, trace_said, status = record(work, str(padding), str(ROUNDS))
    expected, found = late_ends(program_said), late_ends(trace_said)
    waits = sum(line.endswith(" 1") for line in expected if line.startswith("free"))
    wrong = [(a, b) for a, b in zip(expected, found) if a != b]
    print(f"{padding} words more: {len(expected)} said, {len(wrong)} wrong, {waits} waits, {status}")
    for pair in wrong[:5]:
        print("program, trace:", *pair)
    return (bool(wrong) + (len(expected) != len(found)) + (status != "all") + (waits < 50))


def test_unknown(work):
    _, trace_said, status = record(work, "none", str(ROUNDS))
    streams = {line.split()[3] for line in trace_said if line.startswith("alloc")}
    print(f"another layout: streams {streams}, {status}")
    return streams != {"0xffffffffffffffff"} or not status.startswith("none")


def test_bounded(work):
    """A trace that keeps the newest events only lacks what earlier ones said of requests: memtap plan says so, and that
    nothing is replayed."""
    trace = work / "bounded.mtap"
    subprocess.run([program, "0", str(150 * ROUNDS)], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "LD_PRELOAD": os.environ["MEMTAP_TEST_SHIM"],
                        "MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1", "MEMTAP_KEEP": "1M"})
    asked = [memtap, "plan", "--memory", "80G", trace]
    text = subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=False).stdout
    found = json.loads(subprocess.run([*asked, "--format", "json"], stdout=subprocess.PIPE,
                                      check=False).stdout)
    words = ("Dropped because only the newest events are kept", "Modelled:",
             "The trace lacks the requests of")
    lack = [line for line in words if line not in " ".join(text.split())]
    said = {row["how"] for row in found["settings"]}
    print(f"bounded: {found['check']}, {said}, lacking {lack}")
    return bool(lack) or said != {"modelled"} or not found["check"]["requests_unknown"]


with tempfile.TemporaryDirectory(prefix="memtap-test-") as folder:
    where = pathlib.Path(folder)
    sys.exit(sum(test(where, padding) for padding in (0, 1, 2, 6)) + test_unknown(where) +
             test_bounded(where) != 0)
