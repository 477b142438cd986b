# SPDX-License-Identifier: Apache-2.0
"""Compact copies of PyTorch's traces say what the whole ones do: of training, of mixed precision, of a
program with graphs and pools of its own, and of one that ran out of memory."""
import sys

from harness import MEMTAP, ROOT, ZOO, Forks, Path, check, equal, finish, folder, must_run, need_torch

SCRIPTS = {"linear_loop.py": 0, "conv_vs_linear.py": 0, "amp.py": 0, "graph_capture.py": 0, "plain_oom.py": 1}

need_torch()
with folder() as work, Forks(ZOO / "conv_vs_linear.py") as forks:
    traces = []
    for script, ends in SCRIPTS.items():
        traces.append(Path(work) / script.replace(".py", ".mtap"))
        code, output = forks.run(traces[-1], ZOO / script)
        equal(f"the exit code of {script} ({output[-300:]})", code, ends)
    check(all(trace.exists() for trace in traces), f"traces: {traces}")
    done = must_run([sys.executable, ROOT / "tests" / "cli" / "test_compact.py", MEMTAP, "--of", *traces])
    print(done.stdout)
finish()
