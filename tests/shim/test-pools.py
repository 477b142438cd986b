# SPDX-License-Identifier: Apache-2.0
"""The names of MemPools' segments in a trace against the pools that they were allocated in, for each
Python that is found (pythons.py)."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pythons

here = pathlib.Path(__file__).resolve().parent


def read_trace(path):
    """The name of the memory, by the size of the allocation."""
    listing = subprocess.run([os.environ["MEMTAP"], "dump", "--format", "json", path], check=True,
                             stdout=subprocess.PIPE)
    records = [json.loads(line) for line in listing.stdout.decode().splitlines()]
    strings = {record["id"]: record["text"] for record in records if record["record"] == "string"}
    names = {record["address"]: strings[record["name"]] for record in records
             if record["record"] == "named"}
    return {record["size"]: names.get(record["address"]) for record in records
            if record["record"] == "cuda_malloc"}


def test(minor, python, work):
    trace = work / f"{minor}.mtap"
    process = subprocess.run(
        [python, here / "pools-program.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "LD_PRELOAD": os.environ["MEMTAP_TEST_SHIM"],
             "MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1"})
    if process.returncode or process.stderr:
        print(f"3.{minor}: exit code {process.returncode}: {process.stderr.decode()}")
        return 1
    found = read_trace(trace)
    expected = [json.loads(line) for line in process.stdout.decode().splitlines()]
    wrong = [(n, found.get(n, "not there"), name) for n, name in enumerate(expected)
             if found.get(n, "not there") != name]
    for n, have, name in wrong[:5]:
        print(f"3.{minor}: allocation {n}: trace {have}, program {name}")
    print(f"Python 3.{minor}: {len(expected)} allocations, {len(wrong)} with a wrong name")
    return len(wrong) + (len(expected) < 1000)


def main():
    faults, versions = 0, pythons.found()
    with tempfile.TemporaryDirectory(prefix="memtap-test-") as work:
        for minor, python in versions:
            faults += test(minor, python, pathlib.Path(work))
    if not versions:
        print("no Python 3.8 to 3.15 was found")
    sys.exit(faults != 0 or not versions)


main()
