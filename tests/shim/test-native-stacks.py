# SPDX-License-Identifier: Apache-2.0
"""test-native-stacks.py PROGRAM [ARGUMENT]...: the stacks of a program's trace are those that
backtrace(3) gives in the same places, frame for frame. The program prints lines "SIZE
MODULE+ADDRESS..." for allocations of these sizes (native-frames.c). It has no Python: native stacks
are the default, but not of light recordings."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MOST_FRAMES = 256  # that memtap keeps


def info(path):
    done = subprocess.run([os.environ["MEMTAP"], "dump", path], check=True, capture_output=True, text=True)
    return dict(line[5:].split("=", 1) for line in done.stdout.splitlines() if line.startswith("info "))


def read_trace(path):
    """Size of an allocation -> its frames, innermost first: (module, address)."""
    strings, modules, frames, stacks, events = {}, {0: "?"}, {}, {}, {}
    done = subprocess.run([os.environ["MEMTAP"], "dump", "--format", "json", path], check=True,
                          stdout=subprocess.PIPE, text=True)
    for line in done.stdout.splitlines():
        record = json.loads(line)
        match record["record"]:
            case "string":
                strings[record["id"]] = record["text"]
            case "module":
                modules[record["id"]] = strings[record["path"]]
            case "native_frame":
                frames[record["id"]] = (modules[record["module"]], record["address"])
            case "stack":
                stacks[record["id"]] = (frames[record["frame"]], *stacks.get(record["parent"], ()))
            case "cuda_malloc":
                events[record["size"]] = stacks.get(record["stack"], ())
    return events


def same_frame(ours, theirs, program):
    """backtrace gives return addresses, and where a signal came in, the address itself."""
    module, address = theirs.rsplit("+", 1)
    module = str(program) if module == "main" else module
    same_file = (os.path.realpath(ours[0]) == os.path.realpath(module) if "/" in module else
                 os.path.basename(ours[0]) == module)
    return same_file and int(address, 16) - ours[1] in (0, 1)


def compare(ours, theirs, program):
    """What is wrong, or None. The innermost frame calls twice: at two places."""
    if len(ours) != min(len(theirs), MOST_FRAMES):
        return f"{len(ours)} frames, not {len(theirs)}"
    for i, (mine, his) in enumerate(zip(ours, theirs)):
        if i and not same_frame(mine, his, program):
            return f"frame {i} is {mine[0]}+{mine[1]:x}, not {his}"
    return None


program = pathlib.Path(sys.argv[1]).resolve()
wrong = total = 0
with tempfile.TemporaryDirectory() as folder:
    trace = pathlib.Path(folder, "t.mtap")
    environment = os.environ | {"LD_PRELOAD": os.environ["MEMTAP_TEST_SHIM"], "MEMTAP_QUIET": "1",
                                "MEMTAP_OUTPUT": str(trace)}
    done = subprocess.run([program, *sys.argv[2:]], env=environment, check=True, text=True,
                          stdout=subprocess.PIPE)
    events = read_trace(trace)
    for name, value in (("MEMTAP_LIGHT", "1"), ("MEMTAP_STACKS", "python")):
        trace.unlink()
        subprocess.run([program, *sys.argv[2:]], env=environment | {name: value}, check=True, stdout=subprocess.DEVNULL)
        wrong += info(trace)["native_stacks"] != "no: switched off"
for line in done.stdout.splitlines():
    words = line.split()
    if line.startswith("plugins"):
        wrong += words[-1] != "yes"
        print(line)
    elif words[0] != "#":
        total += 1
        fault = compare(events.get(int(words[0]), ()), words[1:], program)
        if fault:
            wrong += 1
            print(f"allocation {words[0]}: {fault}")
print(f"{total} stacks, {wrong} wrong")
sys.exit(wrong != 0 or total == 0 or total != len(events))
