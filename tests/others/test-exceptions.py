# SPDX-License-Identifier: Apache-2.0
"""test-exceptions.py MEMTAP PROGRAM: exceptions pass through every hook as they do without memtap, and what is allocated
afterwards is recorded."""
import json
import os
import subprocess
import sys
import tempfile

memtap, program = sys.argv[1:]
faults = []
without = subprocess.run([program], capture_output=True, text=True)
with tempfile.TemporaryDirectory() as folder:
    trace = os.path.join(folder, "a.mtap")
    ran = subprocess.run([memtap, "run", "--stacks", "both", "-q", "-o", trace, "--", program], capture_output=True, text=True)
    dump = subprocess.run([memtap, "dump", "--format", "json", trace], capture_output=True, text=True).stdout
events = [json.loads(line) for line in dump.splitlines() if '"time_ns"' in line]
last = [(event["record"], event["size"]) for event in events if event.get("size") in (12345, 54321)]
for what, found, wanted in [
        ("exit codes", (without.returncode, ran.returncode), (0, 0)), ("stderr", ran.stderr, without.stderr),
        ("each has thrown", without.stdout.count("nothing"), 0), ("output", ran.stdout, without.stdout),
        ("recorded", last, [("cuda_malloc", 12345), ("cuda_malloc", 54321)])]:
    if found != wanted:
        faults.append(f"{what}: {found}, not {wanted}")
hooks = without.stdout.count("as is wanted")
print("\n".join(faults) or f"{hooks} hooks")
sys.exit(bool(faults) or hooks < 100)
