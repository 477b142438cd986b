# SPDX-License-Identifier: Apache-2.0
"""The README's chapter about nights, to the letter: its commands in a folder that has only a script of the
reference scripts, three nights on one day, of which the last one leaks."""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "torch"))
from harness import MEMTAP, PYTHON, ROOT, ZOO, check, equal, finish, folder, need_torch, os, run  # noqa: E402

LEAK = ("        optimizer.zero_grad()\n",
        "        optimizer.zero_grad(); old.append(torch.zeros(64, 2**20, device='cuda'))\n")


def chapter():
    """The first commands below its heading."""
    lines = (ROOT / "README.md").read_text().split("\n## Nightly\n")[1].splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("    "))
    return "\n".join(line[4:] for line in lines[begin:lines.index("", begin)])


def main():
    need_torch()
    with folder() as name:
        work = Path(name)
        script = (ZOO / "amp.py").read_text()
        (work / "train.py").write_text(script)
        (work / "bin").mkdir()
        for command, path in {"memtap": MEMTAP, "python": PYTHON}.items():
            (work / "bin" / command).write_text(f'#!/bin/sh\nexec {path} "$@"\n')
            (work / "bin" / command).chmod(0o755)
        env = {"PATH": f"{work / 'bin'}:{os.environ['PATH']}", "GITHUB_SHA": "", "HOME": name}

        def night():
            done = run(["bash", "-eu", "-c", chapter()], cwd=work, env=env)
            print(done.stdout, done.stderr)
            equal("exit code", done.returncode, 0)
            return done.stdout
        for count in 1, 2:
            check("limits hold" in night(), f"night {count} is good")
        check(script.count(LEAK[0]) == 1, "there is one place for the leak")
        (work / "train.py").write_text("old = []\n" + script.replace(*LEAK))
        line = script[:script.index(LEAK[0])].count("\n") + 2
        out = night()
        for limit in "peak", "growth":
            check(f": {limit}: " in out, f"check tells of {limit}")
        check(f"inputs +1.00 GiB at train.py:{line} main, new" in out, "diff names the line")
        check("train.py" in out.split("limits broken")[1], "trend tells of the nights")
        equal("good nights", len(list((work / "good").iterdir())), 2)
        equal("all nights", len(list((work / "traces").iterdir())), 3)
    finish()


main()
