# SPDX-License-Identifier: Apache-2.0
"""test-four-routes.py MEMTAP PROGRAM: threads that get memory by four routes at once, the runtime, the
driver, virtual memory and streams: whenever they meet, the trace says to the byte what they hold."""
import json
import os
import subprocess
import sys
import tempfile

memtap, program = sys.argv[1:]
CALLS = {"cudaMalloc", "cuMemAlloc", "cuMemCreate", "cudaMallocAsync"}
faults = []


def ask(*words):
    done = subprocess.run([memtap, *words], text=True, stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()] if words[0] == "dump" \
        else json.loads(done.stdout)


with tempfile.TemporaryDirectory() as directory:
    trace = os.path.join(directory, "t.mtap")
    ran = subprocess.run([memtap, "run", "--simulate", "h100", "--output", trace, "--", program],
                         text=True, stdout=subprocess.PIPE, check=True)
    moments = [tuple(map(int, line.split())) for line in ran.stdout.splitlines()]
    start = int(ask("info", "--format", "json", trace)["process"]["start_monotonic_ns"])
    for time_ns, live in moments:
        device, = ask("report", "--format", "json", "--at", f"{time_ns - start}ns", trace)["devices"]
        if device["peak"]["allocated"] != live:
            faults.append(f"{device['peak']['allocated']} bytes, not {live}, at {time_ns - start}")
    whole = ask("report", "--format", "json", trace)
    if any(whole["oddities"].values()) or whole["lost"] or device["not_freed"]["bytes"]:
        faults.append(f"{whole['oddities']}, {whole['lost']} lost, {device['not_freed']}")
    used = {event["api"] for event in ask("dump", "--format", "json", trace)
            if event["record"].startswith("cuda_malloc")}
    if used != CALLS or len(moments) != 21 or len(set(live for _, live in moments)) < 10:
        faults.append(f"not what was to be tried: {used}, {moments}")
print("\n".join(faults) or f"{len(moments)} moments")
sys.exit(bool(faults))
