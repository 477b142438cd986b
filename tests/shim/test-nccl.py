# SPDX-License-Identifier: Apache-2.0
"""test-nccl.py MEMTAP SHIM LINKED OPENED: NCCL's communicators are counted, and their memory is
theirs, however a program found NCCL; another NCCL of the process works as without memtap."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import equal, finish

memtap, shim, linked, opened = map(os.path.abspath, sys.argv[1:])
NCCL, SECOND = (os.environ["MEMTAP_TEST_BUILD"] + name for name in ("/libnccl.so.2", "/libnccl-second.so.2"))
CREATED = ["ncclCommInitRank", *["ncclCommInitRankConfig"] * 2, *["ncclCommInitAll"] * 4, *["ncclCommSplit"] * 2]
ENDED = ["ncclCommDestroy", "ncclCommAbort", "ncclCommDestroy", "ncclCommDestroy"]
MEMORY = 4096


def run(*command):
    """What a program prints, and its trace."""
    environment = {**os.environ, "LD_PRELOAD": shim, "MEMTAP_OUTPUT": "t.mtap", "MEMTAP_QUIET": "1",
                   "LD_LIBRARY_PATH": os.environ["MEMTAP_TEST_BUILD"]}
    done = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    equal(f"{command}: exit status, {done.stderr}", done.returncode, 0)
    dump = answer("dump", "--format", "json", "t.mtap").splitlines()
    report = json.loads(answer("report", "--format", "json", "--at", "end", "t.mtap"))
    os.unlink("t.mtap")
    return done.stdout, [json.loads(line) for line in dump], report["devices"]


def answer(*command):
    return subprocess.run([memtap, *command], check=True, text=True, stdout=subprocess.PIPE).stdout


def calls(events, kind):
    return [event["api"] for event in events if event["record"] == kind]


def nccl_of(devices):
    return {device["device"]: tuple(device["balance"]["nccl"].values()) for device in devices}


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    # Two of the five are device 1's; those without a device count on each. All memory is device 0's, says this CUDA.
    for what, command in {"linked": [linked, "linked"], "opened": [opened, "opened", NCCL],
                          "found again": [linked, "linked", NCCL], "opened by its name": [opened, "opened", "libnccl.so.2"],
                          "beside another": [opened, "opened", SECOND, NCCL]}.items():
        _, events, devices = run(*command)
        equal(f"{what}: created", calls(events, "cuda_object"), CREATED)
        equal(f"{what}: ended", calls(events, "cuda_object_gone"), ENDED)
        equal(f"{what}: at the end", nccl_of(devices)[0], (3, 5 * MEMORY))
    _, events, devices = run(opened, "second", NCCL, SECOND)
    equal("another NCCL: created", calls(events, "cuda_object"), [])
    equal("another NCCL: its memory", nccl_of(devices)[0], (0, 5 * MEMORY))
    text, events, _ = run(opened, "absent")
    equal("without NCCL", (text, calls(events, "cuda_object")), ("not there, said so\n", []))
finish()
