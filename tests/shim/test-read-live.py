# SPDX-License-Identifier: Apache-2.0
"""test-read-live.py MEMTAP SHIM HANDS-OVER [READS]: whoever reads the trace of a program whose threads hand blocks to each other, while
it runs, finds no address allocated twice, no free without its allocation, and totals of PyTorch's that are the blocks'."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
from checks import check, finish, until

memtap, shim, hands_over = map(os.path.abspath, sys.argv[1:4])
reads = int(sys.argv[4]) if len(sys.argv) > 4 else 15
with tempfile.TemporaryDirectory() as folder:
    trace = os.path.join(folder, "t.mtap")
    # a bounded trace does not grow while it is read
    program = subprocess.Popen([hands_over, "8"], env={**os.environ, "LD_PRELOAD": shim, "MEMTAP_OUTPUT": trace, "MEMTAP_QUIET": "1",
                                                        "MEMTAP_STACKS": "none", "MEMTAP_KEEP": "1M"})
    until(lambda: os.path.exists(trace) and os.path.getsize(trace))
    wrong, events, running = [], [], 0
    for read in range(reads):
        done = subprocess.run([memtap, "report", "--format", "json", trace], stdout=subprocess.PIPE, check=False)
        report = json.loads(done.stdout)
        found = report["oddities"]
        running += report["ended"]["how"] == "running" if "how" in report["ended"] else 1
        events.append(report["events"])
        if done.returncode or any(found.values()):
            wrong.append((read, done.returncode, found))
    program.kill()
    program.wait()
print(reads, "reads of", min(events), "to", max(events), "events,", running, "while it ran;", len(wrong), "contradictions")
check(not wrong, "no contradiction", wrong[:10])
check(max(events) > 100, "events", events)
finish()
