# SPDX-License-Identifier: Apache-2.0
"""test_static_runtime.py MEMTAP LIBMEMTAP PROGRAM: what a program asks of a runtime that is linked into it
is recorded on a real GPU: by the hooks of the driver, and by CUPTI where nothing is preloaded."""
import json
import os
import subprocess
import sys
import tempfile

memtap, library, program = sys.argv[1:]
faults = []


def check(what, command, wanted, **environment):
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "t.mtap")
        ran = subprocess.run(command, text=True, capture_output=True, check=False,
                             env={**os.environ, "MEMTAP_OUTPUT": trace, **environment})
        if "error 0" not in ran.stdout.splitlines():
            faults.append(f"{what}: {ran.stdout[-200:]} {ran.stderr}")
            return
        listing = subprocess.run([memtap, "dump", "--format", "json", trace], check=True, text=True,
                                 stdout=subprocess.PIPE)
    events = map(json.loads, listing.stdout.splitlines())
    found = [(event["api"], event["size"]) for event in events
             if event["record"] == "cuda_malloc" and event["size"] == 4096]
    if found != [(wanted, 4096)]:
        faults.append(f"{what}: {found}")


if not os.path.exists("/dev/nvidiactl"):
    print("skipped: there is no GPU")
    sys.exit(77)
check("hooks", [program], "cuMemAlloc", LD_PRELOAD=os.path.realpath(library))
check("CUPTI", [program], "cudaMalloc", CUDA_INJECTION64_PATH=os.path.realpath(library))
print("\n".join(faults) or "one call, one record")
sys.exit(bool(faults))
