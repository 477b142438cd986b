# SPDX-License-Identifier: Apache-2.0
"""The README's recipes, to the letter, in a folder that has only a train.py: one that runs out of memory, one that grows. (The third,
about nights, is tests/nightly/test_readme.py's.) The card is simulated around them, as if the machine had one."""
import os
import subprocess
import tempfile
from pathlib import Path

import harness
from harness import MEMTAP, PYTHON, ROOT, check, equal

README = (ROOT / "README.md").read_text()


def recipe(chapter):
    """The first commands below a heading."""
    lines = README.split(f"\n## {chapter}\n")[1].splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("    "))
    return [line.strip() for line in lines[begin:lines.index("", begin)]]


def follow(folder, chapter, script, code):
    """What the recipe's last command prints, after the others."""
    places = folder / "bin"
    places.mkdir()
    for name, path in {"memtap": MEMTAP, "python": PYTHON}.items():
        (places / name).write_text(f'#!/bin/sh\nexec {path} "$@"\n')
        (places / name).chmod(0o755)
    (folder / "train.py").write_text(script.read_text())
    commands = recipe(chapter)
    equal(f"{chapter}: commands", len(commands), 2)
    environment = {**os.environ, "PATH": f"{places}:{os.environ['PATH']}"}
    for command, wanted in zip(commands, (code, 0)):
        done = subprocess.run([MEMTAP, "simulate", "--gpu", harness.GPU, "--", "sh", "-c", command], cwd=folder, env=environment,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
        equal(f"{chapter}: the exit code of {command}", done.returncode, wanted)
    return done.stdout


def main():
    programs = {"It ran out of memory": ("zoo/plain_oom.py", 1), "It grows": ("cli/leaking.py", 0)}
    for chapter, (program, code) in programs.items():
        with tempfile.TemporaryDirectory() as folder:
            said = follow(Path(folder), chapter, ROOT / "tests" / program, code)
            if code:
                check("Out of memory on device 0" in said and "train.py:" in said, f"the request and its line: {said[:300]}")
                check("replayed" in said, "advice that was replayed")
            else:
                check("each iteration leaves 2.00 MiB more" in said.lower().replace("mib", "MiB"), f"what stays behind: {said[:300]}")
                check("in 11 iterations  activations     train.py:9" in said, "the line that leaves it")
    harness.finish()


if harness.ON_GPU:
    harness.skip("the card's size is simulated")
harness.need_torch()
main()
