# SPDX-License-Identifier: Apache-2.0
"""PyTorch's operator database, which its own tests are made of, on the simulated device with native and Python stacks:

    python3 tests/others/operators.py --python .venv/bin/python [--save]

Each operator runs on its samples, forward and backward (run_operators.py). Its errors, its outputs' shapes and types,
and PyTorch's allocator counters after each must be the same."""
import json
import os
import subprocess
import sys
from pathlib import Path

import others

PROGRAM = Path(__file__).with_name("run_operators.py")


class Operators(others.Suite):
    name = "PyTorch's operator database"
    ways = ["simulated"]
    environment = {"MEMTAP_STACKS": "both"}
    limit_s = 600

    def add_arguments(self, parser):
        python = os.environ.get("MEMTAP_TEST_PYTHON", others.ROOT / ".venv" / "bin" / "python")
        parser.add_argument("--python", default=python, help="one that has PyTorch's CUDA build")
        parser.add_argument("--every", type=int, default=1, help="only each N-th operator")
        parser.add_argument("--at-once", type=int, default=60, help="operators a process; 60")

    def prepare(self, args):
        done = subprocess.run([args.memtap, "simulate", "--", args.python, PROGRAM, "count"], capture_output=True,
                              text=True)
        if done.returncode:
            print(f"skipped: {args.python}: {done.stderr}")
            sys.exit(77)
        count, self.version = done.stdout.split()
        self.count = int(count)
        return f"torch {self.version}, {self.count} operators"

    def units(self, args):
        step = args.at_once * args.every
        return [f"{first}:{min(first + step, self.count)}:{args.every}" for first in range(0, self.count, step)]

    def command(self, args, unit, folder):
        return [args.python, PROGRAM, unit]

    def results(self, unit, folder, output):
        lines = [json.loads(line) for line in output.splitlines() if line.startswith('["')]
        return dict(lines)


others.main(Operators())
