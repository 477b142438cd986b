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


def answer(question, stacks, *command):
    """What memtap answers in JSON about a run."""
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "t.mtap")
        subprocess.run([memtap, "run", "--simulate", "t4", "--stacks", stacks, "-o", trace, "--", *command], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return subprocess.run([memtap, question, "--format", "json", trace], check=True, text=True, stdout=subprocess.PIPE).stdout


def parts_of(command, stacks):
    """Who has how much, and the categories of it."""
    (device,) = json.loads(answer("report", stacks, command))["devices"]
    sums = {name: size for name, size in device["peak"]["categories"].items() if size}
    return {part["name"]: part["bytes"] for part in device["balance"]["by_library"]}, sums


equal("a library of CUDA's", parts_of(program, "python"),
      ({"libcublas-made.so": 10000, "cuMemAlloc": 6000}, {"workspace": 10000, "other": 6000}))
equal("no stacks", parts_of(program, "none"), ({"cuMemAlloc": 16000}, {"other": 16000}))
def named(command):
    """Calls that have a stack."""
    events = map(json.loads, answer("dump", "python", command, "make and end").splitlines())
    return [event["api"] for event in events if event.get("stack")]


# What is recorded before the call, too: its caller is not the one of the call before it.
equal("ended by a library of CUDA's", named(program), ["cuStreamDestroy", "cuMemUnmap"])
equal("ended by another library", named(other), [])
equal("another library", parts_of(other, "python"), ({"cuMemAlloc": 16000}, {"other": 16000}))
finish()
