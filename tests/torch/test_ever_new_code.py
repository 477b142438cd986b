# SPDX-License-Identifier: Apache-2.0
"""A program that makes new functions for ever, as notebooks and generated code do, each of which
allocates: what memtap takes stays bounded, what could not be kept is said, and no stack is wrong."""
import json
import subprocess

import harness

N = 110_000  # more names than there is room for
PROGRAM = """
import sys, torch
def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
n = int(sys.argv[1])
torch.empty(1, device="cuda")
for i in range(n):
    if i == 1000:
        before = rss()
    name = f"made_{i}"
    names = {"empty": torch.empty, "uint8": torch.uint8}
    exec(compile(f"def {name}():\\n    empty({512 * (1 + i % 1000)}, dtype=uint8, device='cuda')\\n",
                 f"<made {i % 7}>", "exec"), names)
    names[name]()
print(rss() - before)
"""


def stacks_of(trace):
    """Of each block, in order: its size, and the functions on its stack, innermost last."""
    listing = subprocess.Popen([harness.MEMTAP, "dump", "--format", "json", trace],
                               stdout=subprocess.PIPE)
    strings, frames, stacks, found, info = {0: ""}, {}, {0: ()}, [], {}
    for line in listing.stdout:
        record = json.loads(line)
        kind = record["record"]
        if kind == "string":
            strings[record["id"]] = record["text"]
        elif kind in ("frame", "call"):
            frames[record["id"]] = strings[record["function"]]
        elif kind == "stack":
            stacks[record["id"]] = (frames[record["frame"]], record["parent"])
        elif kind == "alloc":
            found.append((record["size"], stacks[record["stack"]]))
        elif kind == "info":
            key, _, value = record["text"].partition("=")
            info[key] = value
    harness.equal("exit code of dump", listing.wait(), 0)
    return found, info


def main():
    harness.need_torch()
    with harness.folder() as work:
        trace = f"{work}/t.mtap"
        grown = int(harness.must_run([*harness.recorded(trace), harness.PYTHON, "-c", PROGRAM, N]).stdout)
        print(f"{grown / 2**20:.1f} MiB more than after 1000 functions")
        harness.check(grown < 48 << 20, "at most 48 MiB more")
        found, info = stacks_of(trace)
        harness.equal("blocks", len(found), N + 1)
        # Where there is no room for a function's name, its file and line stay.
        wrong = [i for i, (size, stack) in enumerate(found[1:])
                 if size != 512 * (1 + i % 1000) or not stack or stack[0] not in (f"made_{i}", "")]
        named = sum(stack[0] != "" for _, stack in found[1:] if stack)
        harness.equal("blocks with another's size or stack", wrong[:5], [])
        print(f"{named} of {N} with the function's name")
        harness.check(N // 2 < named < N, "most have it, not all")
        harness.check("names" in info.get("left_out", ""), f"left_out={info.get('left_out')}")
    harness.finish()


main()
