# SPDX-License-Identifier: Apache-2.0
"""test-first-command.py README MEMTAP ALLOC-THREADS: the first command of the README, to the letter, and the
one that it says does the same, leave a trace each; `python` is a program that uses CUDA."""
import os
import pathlib
import subprocess
import sys
import tempfile

readme, memtap, program = sys.argv[1:]
line = next(line for line in pathlib.Path(readme).read_text().splitlines() if line.startswith("    "))
commands = [command.strip() for command in line.split("# or:")]
environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
faults = []
for command in commands:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for word, text in {"python": f'test "$1" = train.py && exec {os.path.abspath(program)} 1 2',
                           "memtap": f'exec {os.path.abspath(memtap)} "$@"'}.items():
            (folder / word).write_text(f"#!/bin/sh\n{text}\n")
            (folder / word).chmod(0o755)
        done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False,
                              timeout=300, env=environment | {"PATH": f"{folder}:{os.environ['PATH']}"})
        traces = list(folder.glob("*.mtap"))
        if done.returncode or "ERROR" in done.stderr or len(traces) != 1:
            faults.append(f"{command}: exit code {done.returncode}, {len(traces)} traces: {done.stderr}")
print(len(commands), "commands", *faults, sep="\n")
sys.exit(bool(faults) or len(commands) != 2)
