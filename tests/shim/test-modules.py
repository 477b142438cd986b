# SPDX-License-Identifier: Apache-2.0
"""The names of torch.nn modules in a trace against the modules themselves, for each Python that is
found (pythons.py): no name may be wrong, and none missing."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pythons

here = pathlib.Path(__file__).resolve().parent


def read_trace(path):
    """The innermost call's [root, path] by the size of the allocation, and the info records."""
    listing = subprocess.run([os.environ["MEMTAP"], "dump", "--format", "json", path], check=True,
                             stdout=subprocess.PIPE)
    strings, calls, stacks, found, info = {0: ""}, {}, {0: ["", ""]}, {}, {}
    for line in listing.stdout.decode().splitlines():
        record = json.loads(line)
        kind = record["record"]
        if kind == "string":
            strings[record["id"]] = record["text"]
        elif kind == "call":
            calls[record["id"]] = [strings[record["root"]], strings[record["path"]]]
        elif kind == "stack":
            stacks[record["id"]] = calls.get(record["frame"], stacks[record["parent"]])
        elif kind == "cuda_malloc":
            found[record["size"]] = stacks[record["stack"]]
        elif kind == "info":
            key, _, value = record["text"].partition("=")
            info[key] = value
    return found, info


def without_number(name):
    """Of a model with others of its class: [root, path]."""
    return name and [re.sub(r"#\d+$", "", name[0]), name[1]]


def test(minor, python, work, seed):
    trace = work / f"{minor}-{seed}.mtap"
    process = subprocess.run(
        [python, here / "modules-program.py", str(seed)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "LD_PRELOAD": os.environ["MEMTAP_TEST_SHIM"],
             "MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1", "PYTHONUTF8": "1"})
    if process.returncode or process.stderr:
        print(f"3.{minor}: exit code {process.returncode}: {process.stderr.decode()}")
        return 1
    found, info = read_trace(trace)
    expected = [json.loads(line) for line in process.stdout.decode().splitlines()]
    wrong = [(n, found.get(n), line) for n, line in enumerate(expected)
             if without_number(found.get(n)) != line[:2]]
    for n, have, line in wrong[:5]:
        print(f"3.{minor}: allocation {n}: trace {have}, program {line}")
    print(f"Python 3.{minor}: {len(expected)} allocations, {len(wrong)} with a wrong name")
    roots = {twin: {found[n][0] for n, line in enumerate(expected) if line[2] == twin and n in found}
             for twin in ("first", "second", "third")}
    if any(len(names) != 1 for names in roots.values()) or roots["first"] == roots["second"] or \
            roots["second"] != roots["third"]:
        print(f"3.{minor}: two models of one class are {roots}")
        return 1
    return len(wrong) + (len(expected) < 1000) + (info["modules"] != "yes")


def main():
    faults, versions = 0, pythons.found()
    with tempfile.TemporaryDirectory(prefix="memtap-test-") as work:
        for minor, python in versions:
            for seed in (1, 2):
                faults += test(minor, python, pathlib.Path(work), seed)
    if not versions:
        print("no Python 3.8 to 3.15 was found")
    sys.exit(faults != 0 or not versions)


main()
