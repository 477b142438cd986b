# SPDX-License-Identifier: Apache-2.0
"""A gate against several small steps: on a simulated card none passes in silence; with a budget that lets each
of them pass, the pinned night does not; the last commit of the line is named; a lost process is a bad night."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MEMTAP = os.path.abspath(sys.argv[1])
PROGRAM = """
import ctypes, os
lib = ctypes.CDLL("libcudart.so.12")


def take(mib):
    block = ctypes.c_void_p()
    assert not lib.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(int(mib * (1 << 20))))


sizes = [float(size) for size in open("sizes").read().split()]
for size in sizes[1:]:
    if not os.fork():
        take(size)
        os._exit(0)
    os.wait()
take(sizes[0])
"""
faults = []


def night(work, sizes, code, *says, options=()):
    (work / "sizes").write_text(sizes)
    done = subprocess.run([MEMTAP, "nightly", "--simulate", "h100", *options, "--", sys.executable, "program.py"],
                          cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=250)
    out = " ".join(done.stdout.split())
    if done.returncode != code:
        faults.append(f"{sizes}: exit code {done.returncode}, not {code}:\n{done.stdout}")
    faults.extend(f"{sizes}: does not say {word!r}:\n{done.stdout}" for word in says if not re.search(word, out))
    return done.stdout


def job(folder, name):
    work = Path(folder, name)
    work.mkdir()
    (work / "program.py").write_text(PROGRAM)
    return work


def accept(work):
    newest = max((work / "memtap-nightly/bad").iterdir())
    newest.rename(work / "memtap-nightly/good" / newest.name)


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = job(folder, "exact")
        git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run([*git, "init", "-q"], cwd=work, check=True)
        subprocess.run([*git, "add", "program.py"], cwd=work, check=True)
        subprocess.run([*git, "commit", "-q", "-m", "Take what sizes says"], cwd=work, check=True)
        night(work, "200", 0)
        night(work, "200", 0, "limits hold")
        night(work, "203", 1, r"peak \+3.00 MiB \(\+1.5 %\) since \S+, \+1.5 % since", r"over the limit of 200.00 MiB",
              r"program.py:8: last changed by [0-9a-f]+ \([-0-9]+\): Take what sizes says")
        accept(work)
        for _ in range(3):
            if "peak +" in night(work, "203", 0):
                faults.append("an equal night has a step")
        night(work, "206", 1, r"peak \+3.00 MiB \(\+1.5 %\) since \S+, \+3.0 % since")
        night(work, "190", 0, r"peak -13.00 MiB")

        work = job(folder, "budget")
        (work / "budget.toml").write_text('[limits]\npeak = "+2 %"\n')
        for sizes, code, *says in [("200", 0), ("203", 0, r"peak \+3.00 MiB \(\+1.5 %\) since"), ("203", 0), ("203", 0),
                                   ("203", 0), ("206", 1, r"pinned.peak: 206.00 MiB", r"\+2 % of 200.00 MiB")]:
            night(work, sizes, code, *says, options=("--budget", "budget.toml"))
        accept(work)
        night(work, "206", 0, options=("--budget", "budget.toml"))

        work = job(folder, "processes")
        night(work, "10 20 900", 0)
        night(work, "10 20 900", 0)
        night(work, "900 20 900", 1, "890.00 MiB")
        night(work, "10 20", 1, r"process program.py#\d is missing; its peak was 900.00 MiB")
        night(work, "10 20", 0, r"is missing; .* \(allowed\)", options=("--allow-missing", "process:program.py#*"))
        night(work, "10 20", 0)
    for fault in faults:
        print(fault)
    sys.exit(bool(faults))


main()
