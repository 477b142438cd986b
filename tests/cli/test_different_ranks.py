# SPDX-License-Identifier: Apache-2.0
"""test_different_ranks.py MEMTAP TO-FIT: memtap run --rank all-different with a small C program: one trace of each kind of
rank, which says for how many it stands; a rank that fails is named; nothing is left."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import check, finish

MEMTAP, PROGRAM = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
WORK = tempfile.TemporaryDirectory(prefix="memtap-test-")
HERE = pathlib.Path(WORK.name)
GROUPS = '[ -z "$CUDASIM_GROUPS" ] || printf "0 8 4\\n0 1 8\\n" >>"$CUDASIM_GROUPS"; '  # as PyTorch's would be noted
T4 = 15095 - 104 - 1  # MiB that a program may take, in pages of 2


def memtap(*words):
    return subprocess.run([MEMTAP, *map(str, words)], capture_output=True, text=True, check=False, cwd=HERE,
                          env={**os.environ, "TMPDIR": WORK.name, "LC_ALL": "C.UTF-8"}, timeout=240)


def run(script, world, folder, *words):
    return memtap("run", "--simulate", "t4", "--world-size", world, "--rank", "all-different", "-o", f"{folder}/%r.mtap",
                  *words, "--", "sh", "-c", GROUPS + script)


def test_kinds():
    """Four stages of eight; of the last stage, the last place takes more."""
    script = f'more=$((RANK == 31 ? 50 : 0)); exec {PROGRAM} $((100 + RANK / 8 + more))'
    done = run(script, 32, "kinds")
    check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr}")
    for line in ("32 ranks (groups of rank 0: 4 x 8): ", "  rank 0 represents 8 (", "  rank 24 represents 7 (",
                 "  rank 31 represents 1: 153.00 MiB", "assumed: ranks between two identical ranks"):
        check(line in done.stderr, f"{line!r} is in {done.stderr}")
    report = json.loads(memtap("report", "-f", "json", "kinds").stdout)
    found = [(rank["rank"], rank["stands_for"]) for rank in report["ranks"]]
    check(found == [(0, 8), (8, 8), (16, 8), (24, 7), (31, 1)], f"{found}")
    # The median of 32 ranks lies between the second stage's and the third's; of five traces it would be the third's.
    check(report["imbalance"]["median"] == (2 * 101 + 1) << 19, f"{report['imbalance']}")
    text = memtap("report", "kinds").stdout
    check("5 processes, run alone, for 32 ranks of 32" in text and "stands for" in text, text)


def test_failing_rank():
    done = run(f'[ $RANK != 31 ] || {{ echo no such part >&2; exit 7; }}; exec {PROGRAM} 100', 32, "failing")
    check(done.returncode == 2, f"exit code {done.returncode}")
    check("memtap: rank 31: no answer: refused, exit code 7; run it alone (--rank 31). Its last lines:\n"
          "    no such part\n" in done.stderr, done.stderr)
    check(not (HERE / "failing").exists() or not list((HERE / "failing").iterdir()), "no rank is recorded then")


def test_out_of_memory():
    """A kind of its own; it is run and recorded as the others."""
    done = run(f"exec {PROGRAM} $((RANK < 8 ? 99999 : 100))", 16, "full")
    check("  rank 0 represents 8 (" in done.stderr and "out of memory" in done.stderr, done.stderr)
    check(sorted(path.name for path in (HERE / "full").glob("*.mtap")) == ["0.mtap", "8.mtap"], "both kinds")


def test_made_up():
    """The ranks that are tried have what is made up as those that are recorded."""
    done = run(f'[ "$CUDASIM_SKEW$CUDASIM_SEED$CUDASIM_BOXES" = zipf:173 ] || exit 9; exec {PROGRAM} 100', 2, "made-up",
               "--skew", "zipf:1", "--seed", 7, "--boxes", 3)
    check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr}")


def test_command_line():
    for words, wanted in ((("run", "--rank", "all-different", "true"), "--rank all-different requires --world-size"),
                          (("simulate", "--world-size", "8", "--rank", "all", "true"), "--rank all: expected a number from 0 to 7"),
                          (("fit", "-s", "t4", "--rank", "all-different", "true"),
                           "--rank all-different requires --world-size")):
        done = memtap(*words)
        check(done.returncode == 2 and wanted in done.stderr, f"{words}: {done.stderr}")


def fit(script, *words, code=0):
    done = memtap("fit", "-q", "-f", "json", *words, "--rank", "all-different", "--", "sh", "-c", GROUPS + script)
    check(done.returncode == code, f"exit code {done.returncode} of {words}: {done.stderr}")
    return json.loads(done.stdout)


def test_fit():
    """All kinds have to fit: the border is that of the third stage of four, which takes 1,800 MiB more."""
    result = fit(f"exec {PROGRAM} $(({{size}} + 600 * (RANK / 8 * 7 % 4)))", "-s", "t4", "--vary", "size=1..20000",
                 "--world-size", 32)
    card = result["cards"][0]
    check(card["fits"] == {"size": T4 - 1800} and card["fails"] == {"size": T4 - 1799}, f"{card}")
    trials = [run for run in result["runs"] if " --rank " in run["command"] and "," not in run["command"].split(" --rank ")[1].split()[0]]
    check(len(trials) == 11, f"{len(trials)} ranks to see which differ")
    proof = next(run for run in result["runs"] if run["card"] and run["values"] == card["fits"])
    check(" --world-size 32 --rank 8,16,24,0 -- " in proof["command"], proof["command"])


def test_guide():
    """The commands of docs/guides/will-my-cluster-job-fit.md do what it says, with a program that needs no PyTorch."""
    guide = (pathlib.Path(__file__).parents[2] / "docs/guides/will-my-cluster-job-fit.md").read_text(encoding="utf-8")
    commands = re.findall(r"(?m)^    (memtap (?:.*\\\n)*.*)$", guide)
    check([command.split()[1] for command in commands] == ["run", "report", "fit"], f"{commands}")
    folder = HERE / "guide"
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "train"
    program.write_text(f"#!/bin/sh\n{GROUPS}\nexec {PROGRAM} $((40000 + 30000 * (RANK < 8)))\n", encoding="utf-8")
    program.chmod(0o755)
    path = f"{program.parent}:{pathlib.Path(MEMTAP).parent}:{os.environ['PATH']}"
    said = ""
    for command in commands:
        command = command.replace("python train.py", "train").replace("train.py", "train")
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, cwd=folder, timeout=240,
                              env={**os.environ, "PATH": path, "TMPDIR": WORK.name, "LC_ALL": "C.UTF-8"})
        check(done.returncode == 0, f"{command}: {done.returncode}: {done.stderr}")
        said += done.stdout
    for line in ("2 processes, run alone, for 512 ranks of 512", "Nearest to full: h100, tp=1, pp=1, dp=64 with "):
        check(line in said, f"{line!r} is in {said}")
    check((folder / "layouts.svg").exists(), "the picture")


test_kinds()
test_fit()
test_guide()
test_failing_rank()
test_out_of_memory()
test_made_up()
test_command_line()
LEFT = [path.name for path in HERE.iterdir() if path.name.startswith("memtap-")]
check(not LEFT, f"nothing is left: {LEFT}")
finish()
