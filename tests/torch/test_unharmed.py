# SPDX-License-Identifier: Apache-2.0
"""What memtap must not change: the script's output and exit code; and that a process that does not
use CUDA leaves no file."""
import os
from pathlib import Path

import harness
from harness import PYTHON, ZOO, equal

# A program, its exit code.
ENDS = [
    ("import torch; torch.ones(1, device='cuda')", 0),
    ("import torch, sys; torch.ones(1, device='cuda'); sys.exit(3)", 3),
    ("import torch; torch.ones(1, device='cuda'); raise SystemExit('no')", 1),
    ("import torch; torch.ones(1, device='cuda'); 1 / 0", 1),
    ("import torch, os; torch.ones(1, device='cuda'); os._exit(4)", 4),
    ("import torch; torch.ones(10**12, device='cuda')", 1),
    # On a simulated card a tensor holds nothing of the one before it.
    ("import torch; a = torch.ones(99).cuda(); del a\n"
     "raise SystemExit(torch.empty(99, device='cuda').cpu().any().item())", 0),
]

NO_CUDA = [
    "print(1)",
    "import torch; print(torch.ones(3).sum())",
    "import os; os.system('true'); os.fork() or os._exit(0)",
]


def main():
    harness.need_torch()
    with harness.folder() as work:
        trace = Path(work) / "trace.mtap"
        for script in ("linear_loop.py", "conv_vs_linear.py"):
            alone = harness.must_run([*harness.alone(), PYTHON, ZOO / script], cwd=work)
            with_memtap = harness.must_run([*harness.recorded(trace), PYTHON, ZOO / script], cwd=work)
            equal(f"{script}: standard output", with_memtap.stdout, alone.stdout)
            equal(f"{script}: files", os.listdir(work), [trace.name])
            trace.unlink()
        for code, wanted in ENDS:
            done = harness.run([*harness.recorded(trace), PYTHON, "-c", code], cwd=work)
            equal(f"exit code of {code!r}", done.returncode, wanted)
            harness.check(trace.exists(), f"a trace of {code!r}")
            trace.unlink(missing_ok=True)
        for code in NO_CUDA:
            done = harness.run([*harness.recorded(trace), PYTHON, "-c", code], cwd=work)
            equal(f"exit code of {code!r}", done.returncode, 0)
            equal(f"files of {code!r}", os.listdir(work), [])
    harness.finish()


main()
