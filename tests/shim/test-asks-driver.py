# SPDX-License-Identifier: Apache-2.0
"""test-asks-driver.py MEMTAP PROGRAM OTHER: memory that a library of CUDA's takes for itself has its name also without
native stacks, unless there are to be no stacks at all. OTHER: the same with a library of somebody else's."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import equal, finish

memtap, program, other = sys.argv[1:]


def parts_of(command, stacks):
    """Who has how much, and the categories of it."""
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "t.mtap")
        subprocess.run([memtap, "run", "--simulate", "t4", "--stacks", stacks, "-o", trace, "--", command], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        report = subprocess.run([memtap, "report", "--format", "json", trace], check=True, text=True, stdout=subprocess.PIPE)
    (device,) = json.loads(report.stdout)["devices"]
    sums = {name: size for name, size in device["peak"]["categories"].items() if size}
    return {part["name"]: part["bytes"] for part in device["balance"]["by_library"]}, sums


equal("a library of CUDA's", parts_of(program, "python"),
      ({"libcublas-made.so": 10000, "cuMemAlloc": 6000}, {"workspace": 10000, "other": 6000}))
equal("no stacks", parts_of(program, "none"), ({"cuMemAlloc": 16000}, {"other": 16000}))
equal("another library", parts_of(other, "python"), ({"cuMemAlloc": 16000}, {"other": 16000}))
finish()
