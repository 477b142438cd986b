# SPDX-License-Identifier: Apache-2.0
"""Native stacks and Python's together: an allocation's native frames lie in PyTorch's libraries, the
interpreter's are not among them, and the line of Python that asked is their caller; in backward's
own thread they go to the thread's begin. What the memory was for does not change by them."""
import json
import os
from pathlib import Path

import harness
from harness import MEMTAP, check, equal

PROGRAM = """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 8)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    model(torch.randn(16, 256, device="cuda")).sum().backward()
    optimizer.step()
torch.zeros(7, 1000).cuda()
"""
MOVED_LINE, MOVED_BYTES = 10, 28160  # the last line, and its block


class Stacks(harness.Trace):
    """Frames of a stack, innermost first: (library, None) or (file, line)."""

    def __init__(self, path):
        self.strings, self.modules, self.frames, self.stacks = {}, {0: "?"}, {}, {0: ()}
        super().__init__(path)

    def add(self, record):
        kind = record["record"]
        if kind == "string":
            self.strings[record["id"]] = record["text"]
        elif kind == "module":
            self.modules[record["id"]] = os.path.basename(self.strings[record["path"]])
        elif kind == "native_frame":
            self.frames[record["id"]] = (self.modules[record["module"]], None)
        elif kind == "frame":
            self.frames[record["id"]] = (self.strings[record["file"]], record["line"])
        elif kind == "call":
            self.frames[record["id"]] = None
        elif kind == "stack":
            frame, callers = self.frames[record["frame"]], self.stacks[record["parent"]]
            self.stacks[record["id"]] = (frame, *callers) if frame else callers
        else:
            super().add(record)

    def parts(self, event):
        """Its native frames' libraries, and its Python frames."""
        stack = self.stacks[event["stack"]]
        native = [frame[0] for frame in stack if frame[1] is None]
        check([frame[0] for frame in stack[:len(native)]] == native, "Python calls native code")
        return native, stack[len(native):]


def check_stacks(trace, script):
    equal("native stacks", trace.info["native_stacks"], "yes")
    equal("events lost", trace.end["lost"], 0)
    allocations = trace.of("alloc")
    main = allocations[0]["thread"]
    moved = [event for event in allocations if event["size"] == MOVED_BYTES]
    equal("blocks of the last line", len(moved), 1)
    native, python = trace.parts(moved[0])
    equal("the last line's Python stack", [frame for frame in python if not frame[0].endswith(("<frozen runpy>", "forks.py"))],
          [(str(script), MOVED_LINE)])
    backward = [event for event in allocations if event["thread"] != main]
    check(backward, "backward allocates in a thread of its own")
    for event in allocations:
        native, python = trace.parts(event)
        equal("innermost library", native[0], "libc10_cuda.so")
        check("libtorch_cuda.so" in native or "libtorch_cpu.so" in native, f"PyTorch in {native}")
        equal("threads with Python", bool(python), event["thread"] == main)
        of_libc = [library.split(".")[0] == "libc" for library in native]
        check(of_libc[-1] if event["thread"] != main else not any(of_libc), f"from where: {native}")
    for event in trace.of("free", "saved", "leaf", "node_new"):
        equal(f"native frames of {event['record']}", trace.parts(event)[0], [])


def categories(path):
    report = json.loads(harness.must_run([MEMTAP, "report", "--format", "json", path]).stdout)
    return [(device["peak"]["allocated"], device["peak"]["categories"], device["peak"]["rules"])
            for device in report["devices"]]


def main():
    harness.need_torch()
    with harness.folder() as work:
        script, traces = Path(work) / "train.py", {}
        script.write_text(PROGRAM)
        for stacks in ("python", "both", "native"):
            traces[stacks] = Path(work) / f"{stacks}.mtap"
            harness.fork(traces[stacks], script, env={"MEMTAP_STACKS": stacks})
        check_stacks(Stacks(traces["both"]), script)
        equal("categories with native stacks too", categories(traces["both"]),
              categories(traces["python"]))
        native = Stacks(traces["native"])
        for event in native.of("alloc"):
            equal("Python frames", native.parts(event)[1], ())
        done = harness.must_run([MEMTAP, "symbolize", traces["both"]])
        print(done.stdout)
        named = harness.must_run([MEMTAP, "dump", traces["both"]]).stdout
        check("c10::cuda::CUDACachingAllocator" in named, "the allocator's functions have names")
    harness.finish()


main()
