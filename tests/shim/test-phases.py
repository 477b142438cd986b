# SPDX-License-Identifier: Apache-2.0
"""test-phases.py MEMTAP PROGRAM nvtx|none: phases that a program names, by memtap.h or
by NVTX, are in its trace; without memtap they do nothing; another tool's NVTX library is left."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import check, equal, finish

memtap, program, has_nvtx = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3] == "nvtx"
HEADER = [("range_push", "outer", ""), ("range_push", "inner", ""), ("named", "field", ""),
          ("range_mark", "now", ""), ("range_pop", "", ""), ("range_pop", "", "")]
NVTX = [("range_push", "outer", ""), ("range_push", "inn\u00e9r", ""),
        ("range_start", "registered", "library"), ("range_start", "two", ""),
        ("range_end", "", ""), ("range_end", "", ""), ("range_push", "registered", "library"),
        ("range_pop", "", "library"), ("range_mark", "aten::mm", ""), ("range_pop", "", ""),
        ("range_pop", "", "")]


def record(how, environment=None):
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "t.mtap")
        ran = subprocess.run([memtap, "run", "--output", trace, "--", program, how], text=True,
                             stdout=subprocess.PIPE, check=True, env=environment)
        listing = subprocess.run([memtap, "dump", "--format", "json", trace], check=True,
                                 stdout=subprocess.PIPE)
    strings, found, address = {0: ""}, [], 0
    for line in listing.stdout.decode().splitlines():
        event = json.loads(line)
        if event["record"] == "string":
            strings[event["id"]] = event["text"]
        elif event["record"] == "cuda_malloc":
            address = event["address"]
        elif event["record"].startswith(("range", "named")):
            found.append((event["record"], strings[event.get("name", 0)],
                          strings[event.get("domain", 0)]))
        if event["record"] == "named" and event["address"] != address + 1:
            check(False, "the named address is another")
    return ran.stdout, found


def preloaded(environment):
    """What is recorded where nothing but LD_PRELOAD is set."""
    library = subprocess.run([memtap, "lib"], text=True, stdout=subprocess.PIPE, check=True)
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "t.mtap")
        subprocess.run([program, "nvtx"], stdout=subprocess.DEVNULL, check=True, env={
            **os.environ, "LD_PRELOAD": library.stdout.strip(), "MEMTAP_OUTPUT": trace,
            **environment})
        listing = subprocess.run([memtap, "dump", trace], check=True, stdout=subprocess.PIPE)
    return listing.stdout.count(b" range_push ")


equal("memtap.h", record("header"), ("", HEADER))
alone = subprocess.run([program, "header"], check=False)
equal("exit code without memtap", alone.returncode, 0)
if has_nvtx:
    equal("NVTX", record("nvtx"), ("nested as NVTX has it: 1\n", NVTX))
    taken = record("nvtx", {**os.environ, "NVTX_INJECTION64_PATH": "/no/such/tool.so"})
    equal("another tool's NVTX", taken[1], [])
    equal("preloaded", preloaded({}), 3)
    equal("preloaded beside another tool", preloaded({"NVTX_INJECTION64_PATH": "/no/tool.so"}), 0)
else:
    print("there is no NVTX header: only memtap.h was tried")
finish()
