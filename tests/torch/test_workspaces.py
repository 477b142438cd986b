# SPDX-License-Identifier: Apache-2.0
"""What PyTorch allocates for cuBLAS to work in is a workspace, whatever its size and whoever requested it first,
with every kind of stacks; a tensor that comes to its address later is none. So is the buffer by which autotuning clears the
card's cache."""
import json
from pathlib import Path

import harness
from harness import MEMTAP, check, equal

SIZE = 5000 * 2 * 1024  # none that PyTorch has by default
PROGRAM = """
import torch
a = torch.zeros(512, 512, device="cuda")
for _ in range(3):
    a @ a
torch.cuda.synchronize()
keep = torch.zeros(7, device="cuda")
torch._C._cuda_clearCublasWorkspaces()
later = torch.zeros(SIZE // 4, device="cuda")
"""
TUNED = "import torch; from {module} import {of}; a = torch.zeros(512, 512, device='cuda'); {of}{call}(lambda: a.add_(1))"
TUNERS = [{"module": "triton.testing", "of": "do_bench", "call": ""},
          {"module": "torch._inductor.runtime.benchmarking", "of": "benchmarker", "call": ".benchmark_gpu"}]


def tunes(trace, tuner):
    """Whether this release has it, and all of the peak but the one tensor is a workspace."""
    program = trace.with_suffix(".py")
    program.write_text(TUNED.format(**tuner))
    with harness.Forks() as forks:
        code, output = forks.run(trace, program)
    if "ImportError" in output or "ModuleNotFoundError" in output:
        return
    equal(f"exit code of {tuner['module']}\n{output}", code, 0)
    peak = json.loads(harness.must_run([MEMTAP, "report", "-f", "json", trace]).stdout)["devices"][0]["peak"]
    equal(f"{tuner['module']}: workspaces", peak["categories"]["workspace"], peak["allocated"] - 512 * 512 * 4)


def sizes(trace, moment):
    done = harness.must_run([MEMTAP, "blocks", "--format", "json", "--at", moment, trace])
    return [block["size"] for device in json.loads(done.stdout)["devices"]
            for block in device["blocks"] if block["category"] == "workspace"]


def kinds_of_events(trace):
    lines = harness.must_run([MEMTAP, "dump", "--format", "json", trace]).stdout.splitlines()
    return [record["record"] for record in map(json.loads, lines) if "time_ns" in record]


def main():
    harness.need_torch()
    with harness.folder() as work:
        for stacks in ["python", "both", "native"]:
            trace = Path(work) / f"{stacks}.mtap"
            program = trace.with_suffix(".py")
            program.write_text(PROGRAM.replace("SIZE", str(SIZE)))
            harness.fork(trace, program, env={"MEMTAP_STACKS": stacks, "CUBLAS_WORKSPACE_CONFIG": ":5000:2"})
            kinds = kinds_of_events(trace)
            told = kinds.index("workspace")
            check(kinds.count("workspace") < kinds.count("alloc"), "each is told once while it lives")
            equal(f"{stacks} stacks: workspaces", sizes(trace, f"event:{told + 1}"), [SIZE])
            equal(f"{stacks} stacks: workspaces afterwards", sizes(trace, "end"), [])
        for tuner in TUNERS:
            tunes(Path(work) / f"{tuner['of']}.mtap", tuner)
    harness.finish()


main()
