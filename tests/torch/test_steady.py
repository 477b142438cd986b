# SPDX-License-Identifier: Apache-2.0
"""A steady training step adds no definitions, and few bytes: a run of 40 steps has the definitions of
one of 10, and at most 3 bytes for each event more. And a run that is killed has all its blocks."""
import subprocess
import sys
from pathlib import Path

import harness

PROGRAM = """
import ctypes, os, sys, torch
from torch import nn
steps, end = int(sys.argv[1]), sys.argv[2]
blocks = [m for _ in range(6) for m in (nn.Linear(256, 256), nn.LayerNorm(256), nn.GELU())]
model = nn.Sequential(*blocks).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(steps):
    model(torch.randn(8, 256, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
if end == "killed":
    totals = torch.cuda.memory_stats()
    print(totals["allocation.all.allocated"], totals["allocation.all.freed"], flush=True)
    ctypes.CDLL(None).syscall(62, os.getpid(), 9)  # as from outside
"""


def record(work, steps, end="returned"):
    trace = f"{work}/{steps}-{end}.mtap"
    (Path(work) / "train.py").write_text(PROGRAM)
    return trace, harness.fork(trace, f"{work}/train.py", steps, end, ends=-9 if end == "killed" else 0)


def definitions(trace):
    listing = subprocess.run([harness.MEMTAP, "dump", trace], check=True, capture_output=True,
                             text=True, errors="replace").stdout
    return sum(line.startswith(("string ", "frame ", "stack ")) for line in listing.splitlines())


def info(trace):
    return harness.json.loads(harness.must_run([harness.MEMTAP, "info", "--format", "json",
                                                trace]).stdout)


def main():
    harness.need_torch()
    with harness.folder() as work:
        short, long = record(work, 10)[0], record(work, 40)[0]
        harness.equal("definitions of 40 steps", definitions(long), definitions(short))
        a, b = info(short), info(long)
        per_event = (b["bytes"] - a["bytes"]) / (b["events"] - a["events"])
        print(f"{per_event:.2f} bytes an event")
        harness.check(per_event <= 3, "at most 3 bytes an event")
        killed, counts = record(work, 40, "killed")
        records = info(killed)["records"]
        harness.equal("state", info(killed)["state"], "killed")
        harness.equal("allocations and frees", [records["alloc"], records["free"]],
                      [int(n) for n in counts.split()])
    harness.finish()


sys.exit(main())
