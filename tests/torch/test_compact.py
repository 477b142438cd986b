# SPDX-License-Identifier: Apache-2.0
"""Compact copies of PyTorch's traces say what the whole ones do: of training, of mixed precision, of a
program with graphs and pools of its own, and of one that ran out of memory."""
import sys

from harness import MEMTAP, PYTHON, ROOT, ZOO, Path, check, finish, folder, must_run, need_torch, recorded

SCRIPTS = {"linear_loop.py": 0, "conv_vs_linear.py": 0, "amp.py": 0, "graph_capture.py": 0, "plain_oom.py": 1}

need_torch()
with folder() as work:
    traces = []
    for script, ends in SCRIPTS.items():
        traces.append(Path(work) / script.replace(".py", ".mtap"))
        must_run([*recorded(traces[-1]), PYTHON, ZOO / script], ends=ends)
    check(all(trace.exists() for trace in traces), f"traces: {traces}")
    done = must_run([sys.executable, ROOT / "tests" / "cli" / "test_compact.py", MEMTAP, "--of", *traces])
    print(done.stdout)
finish()
