# SPDX-License-Identifier: Apache-2.0
"""What memtap must not change: the script's output and exit code; and that a process that does not
use CUDA leaves no file."""
import os
from pathlib import Path

import harness
from harness import PYTHON, ZOO, equal

# A program, its exit code.
ENDS = [
    ("torch.ones(1, device='cuda')", 0),
    ("torch.ones(1, device='cuda'); raise SystemExit('no')", 1),
    ("torch.ones(1, device='cuda'); 1 / 0", 1),
    ("torch.ones(1, device='cuda'); os._exit(4)", 4),
    ("torch.ones(10**12, device='cuda')", 1),
]
if not harness.ON_GPU:  # on a simulated card a tensor holds nothing of the one before it
    ENDS.append(("a = torch.ones(99).cuda(); del a\n"
                 "raise SystemExit(torch.empty(99, device='cuda').cpu().any().item())", 0))

# Imports PyTorch once, and is each of the programs in a child; then ends as none of them.
FORKS = """
import os, sys, torch
for code in sys.argv[1:]:
    if not os.fork():
        break
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
else:
    code = "torch.ones(1, device='cuda'); sys.exit(3)"
exec(code)
"""

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
        codes, wanted = zip(*ENDS)
        done = harness.must_run([*harness.recorded(Path(work) / "%p.mtap"), PYTHON, "-c", FORKS,
                                 *codes], ends=3, cwd=work)
        equal("exit codes", [int(word) for word in done.stdout.split()], list(wanted))
        traces = list(Path(work).iterdir())
        equal("traces", len(traces), len(ENDS) + 1)
        for path in traces:
            path.unlink()
        for code in NO_CUDA:
            done = harness.run([*harness.recorded(trace), PYTHON, "-c", code], cwd=work)
            equal(f"exit code of {code!r}", done.returncode, 0)
            equal(f"files of {code!r}", os.listdir(work), [])
    harness.finish()


main()
