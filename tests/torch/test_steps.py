# SPDX-License-Identifier: Apache-2.0
"""Iterations are counted by optimizer steps, also where these allocate nothing, and where gradients are
kept."""
import json
from pathlib import Path

import harness
from harness import MEMTAP, check, equal

STEPS = 6
PROGRAM = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).cuda()
optimizer = torch.optim.OPTIMIZER
for _ in range(STEPS):
    optimizer.zero_grad(set_to_none=NONE)
    model(torch.randn(32, 64, device="cuda")).sum().backward()
    optimizer.step()
"""
# Two backwards a step, a forward after it, and memory there after the first step only.
ACCUMULATES = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).cuda()
optimizer = torch.optim.OPTIMIZER
total, kept = 0, []
for _ in range(STEPS):
    optimizer.zero_grad(set_to_none=NONE)
    for _ in range(2):
        loss = model(torch.randn(32, 64, device="cuda")).sum()
        loss.backward()
    optimizer.step()
    total += loss
    kept.append(model(torch.randn(32, 64, device="cuda")))
"""
OPTIMIZERS = ["AdamW(model.parameters())", "AdamW(model.parameters(), fused=True)",
              "SGD(model.parameters(), lr=0.1)", "SGD(model.parameters(), lr=0.1, momentum=0.9)"]


def look_at(forks, trace, optimizer, none, text=PROGRAM):
    what = f"{optimizer}, gradients {'given up' if none else 'kept'}{', accumulated' if text is ACCUMULATES else ''}"
    trace.unlink(missing_ok=True)
    program = trace.with_name("steps.py")
    program.write_text(text.replace("OPTIMIZER", optimizer).replace("STEPS", str(STEPS)).replace(
        "NONE", str(none)))
    equal(f"{what}: exit code and output", forks.run(trace, program), (0, ""))
    info = json.loads(harness.must_run([MEMTAP, "info", "--format", "json", trace]).stdout)
    equal(f"{what}: steps", info["records"].get("step"), STEPS)
    report = harness.must_run([MEMTAP, "report", trace]).stdout
    loop = text[:text.index("for _ in range(STEPS)")].count("\n") + 1
    check(f"of {STEPS} (steps in the loop at steps.py:{loop})\n" in report, f"{what}: the report has another number of iterations:\n{report}")


def main():
    harness.need_torch()
    with harness.folder() as work, harness.Forks() as forks:
        for optimizer in OPTIMIZERS:
            for none in [True, False]:
                look_at(forks, Path(work) / "steps.mtap", optimizer, none)
        for optimizer in OPTIMIZERS[1:3]:
            look_at(forks, Path(work) / "steps.mtap", optimizer, True, ACCUMULATES)
    harness.finish()


main()
