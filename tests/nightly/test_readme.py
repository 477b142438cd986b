# SPDX-License-Identifier: Apache-2.0
"""test_readme.py MEMTAP README: the chapter about nights to the letter, in a folder that has only a train.py: nights
that are good, equal, grown, crashed, out of memory, killed, cut short by a child's death, without a trace; first nights
that are bad; budgets; ranks. The training takes memory by CUDA's runtime; it needs no PyTorch."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

memtap, readme = os.path.realpath(sys.argv[1]), pathlib.Path(sys.argv[2])
TRAIN = """import ctypes
import os
import sys

assert sys.argv[1:] == ["--steps", "5"], sys.argv
cuda = ctypes.CDLL("libcudart.so.13")


def take(mib):
    at = ctypes.c_void_p()
    if cuda.cudaMalloc(ctypes.byref(at), ctypes.c_size_t(mib << 20)):
        sys.exit("out of memory")
    return at


def main():
    model = take(64)
    for _ in range(5):
        cuda.cudaFree(take(256))
    END


main()
"""
KILLED = "os.kill(os.getpid(), 9)"
MORE = "more = take(512)"
ENDS = {"good": "pass", "grown": MORE, "crashed": "os._exit(3)", "raised": "raise ValueError",
        "oom": "take(1 << 20)", "killed": KILLED, "child": """if not os.fork():
        os.execv(sys.executable, [sys.executable, "-c", CHILD])
    os.wait()""", "none": "pass"}
CHILD = TRAIN.replace("END", KILLED).replace('assert sys.argv[1:] == ["--steps", "5"], sys.argv\n', "")
faults = []


def recipe():
    """The first commands below the chapter's heading."""
    lines = readme.read_text().split("\n## In CI, every night\n")[1].splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("    "))
    return "\n".join(line[4:] for line in lines[begin:lines.index("", begin)])


class Job:
    """A folder with a training script, whose nights go by the recipe."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "bin").mkdir(parents=True)
        for command, path in {"memtap": memtap, "python": sys.executable}.items():
            (folder / "bin" / command).write_text(f'#!/bin/sh\nexec {path} "$@"\n')
            (folder / "bin" / command).chmod(0o755)

    def names(self, kind):
        folder = self.folder / "memtap-nightly" / kind
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []

    def night(self, end, code, last, command=None, says=()):
        """One night: its exit code, its last line, what it says besides, and where it is kept."""
        text = f"CHILD = {CHILD!r}\n" + TRAIN.replace("END", ENDS[end])
        (self.folder / "train.py").write_text("pass\n" if end == "none" else text)
        before = {kind: self.names(kind) for kind in ("good", "bad")}
        done = subprocess.run(["bash", "-c", command or recipe()], cwd=self.folder, text=True, timeout=600,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
                                   "HOME": str(self.folder), "GITHUB_SHA": ""})
        lines = done.stdout.splitlines() or [""]
        kept = {kind: len(self.names(kind)) - len(before[kind]) for kind in before}
        wanted = {"good": int(code == 0), "bad": int(code != 0 and "no trace" not in last)}
        if "cannot start" in last:
            wanted, last = {"good": 0, "bad": 0}, last.replace("cannot start", "")
        for what, found, right in (("exit code", done.returncode, code), ("kept", kept, wanted),
                                   ("last line", bool(re.search(last, lines[-1])), True),
                                   *((f"says {word}", word in done.stdout, True) for word in says)):
            if found != right:
                faults.append(f"{self.folder.name}, {end}: {what}: {found}, not {right}:\n{done.stdout}")
        faults.extend(f"{end}: {path} is said and is not there:\n{done.stdout}"
                      for path in re.findall(r"memtap-nightly/\S*mtap\b", done.stdout) if not (self.folder / path).exists())
        return done.stdout


def nights(folder):
    job = Job(folder)
    first = job.night("good", 0, "PASS: memtap-nightly/good/")
    if "diff" in first or "Step" in first:
        faults.append(f"a good night says more than it has to:\n{first}")
    job.night("good", 0, "PASS: ", says=["limits hold"])
    job.night("grown", 1, "FAIL: a limit is broken: memtap-nightly/bad/", says=[
        ": peak: 576.00 MiB", "peak +256.00 MiB", "Step on "])
    job.night("crashed", 3, "FAIL: the program ended with exit code 3", says=["ended: exit code 3"])
    job.night("raised", 1, "FAIL: the program ended with exit code 1", says=["ended: exit code 1"])
    job.night("oom", 1, "FAIL: the program ended with exit code 1", says=["ended: out of memory, not caught", "memtap oom"])
    job.night("killed", 137, r"exit code 137 \(128 \+ signal\)", says=["killed by signal 9"])
    job.night("child", 1, "FAIL: the run is incomplete", says=["killed by signal 9"])
    job.night("none", 2, "FAIL: no trace was written")
    job.night("good", 0, "PASS: ")
    job.night("grown", 1, "a limit is broken")
    newest = job.names("bad")[-1]
    os.rename(folder / "memtap-nightly/bad" / newest, folder / "memtap-nightly/good" / newest)
    job.night("grown", 0, "PASS: ")  # since the user has said so
    for trace in re.findall(r"next: memtap \w+ (.*)", job.night("killed", 137, "137")):
        faults.extend(f"next: {word} is not there" for word in trace.split() if not (folder / word).exists())
    listed = subprocess.run([memtap, "history", "list", "--db", folder / "memtap-nightly/memory.db"],
                            capture_output=True, text=True, check=True).stdout
    if listed.count("ended: ") < 5 or listed.count("train.py") < 11:
        faults.append(f"the history has not all nights:\n{listed}")


def first_nights(folder):
    for end, code in ("crashed", 3), ("oom", 1), ("killed", 137), ("child", 1):
        job = Job(folder / end)
        job.night(end, code, "FAIL: ", says=["ended: "])
        job.night("good", 0, "PASS: ")  # and is not compared with the bad one
    job = Job(folder / "none")
    job.night("none", 2, "no trace")
    job.night("none", 5, "no trace was written, and the program failed", recipe().split(" -- ")[0] + " -- sh -c 'exit 5'")
    job.night("none", 127, "no trace", recipe().split(" -- ")[0] + " -- no-such-program")


def budgets(folder):
    job = Job(folder)
    with_budget = recipe().replace(" -- ", " --budget budget.toml -- ")
    (folder / "budget.toml").write_text('[limits]\npeak = "400 MiB"\nreserved = "+1 %"\n')
    job.night("grown", 1, "a limit is broken", with_budget)  # the first night too
    job.night("good", 0, "PASS: ", with_budget)
    job.night("good", 0, "PASS: ", with_budget)
    job.night("killed", 137, "137", with_budget)
    (folder / "budget.toml").write_text('[limits]\npeak = "400 MiB"\n')
    job.night("grown", 1, "a limit is broken", with_budget)
    (folder / "budget.toml").write_text('[limits]\npaek = "1 GiB"\n')
    before = len(job.names("bad"))
    job.night("good", 2, "cannot startbudget.toml:2:", with_budget)
    if len(job.names("bad")) != before:
        faults.append("a night with a wrong budget was begun")


def outputs(folder):
    """What is to be written is, on the first night too."""
    job = Job(folder)
    with_files = recipe().replace(" -- ", " -f text -f junit:night.xml --summary night.md --rules own.rules -- ")
    (folder / "own.rules").write_text('category weights\nweights "model" size=64MiB\n')
    for end, code, last, word in (("good", 0, "PASS: ", "<testcase"), ("child", 1, "incomplete", "<failure"),
                                  ("grown", 1, "a limit is broken", "<failure")):
        shown = job.night(end, code, last, with_files)
        if word not in (folder / "night.xml").read_text() or "###" not in (folder / "night.md").read_text():
            faults.append(f"{end}: night.xml or night.md has no {word}:\n{shown}")
        (folder / "night.xml").unlink()
        (folder / "night.md").unlink()
    newest = subprocess.run([memtap, "history", "show", "--db", folder / "memtap-nightly/memory.db", "-f", "json", "1"],
                            capture_output=True, text=True, check=True).stdout
    if f'"weights": {64 << 20}' not in newest:
        faults.append(f"the history has no weights:\n{newest}")


def ranks(folder):
    """Two processes that know their ranks; a folder with a name of its own."""
    job = Job(folder)
    both = " -- ".join([recipe().split(" -- ")[0], """bash -c '
        RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 python train.py --steps 5 & RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 python train.py --steps 5; wait $!'"""])
    for _ in range(2):
        job.night("good", 0, "PASS: ", both)
    for name in job.names("good"):
        found = sorted(path.name for path in (folder / "memtap-nightly/good" / name).iterdir())
        if found != ["trace-rank0.mtap", "trace-rank1.mtap"]:
            faults.append(f"ranks: {found}")
    done = subprocess.run([memtap, "nightly", "--folder", "-50 %p", "--simulate", "h100", "train.py", "--steps", "5"],
                          cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode or not list((folder / "-50 %p/good").glob("*/trace.mtap")):
        faults.append(f"a folder of another name: {done.returncode} {done.stderr}")


with tempfile.TemporaryDirectory() as name:
    for part in nights, first_nights, budgets, outputs, ranks:
        part(pathlib.Path(name) / part.__name__)
print(*faults, sep="\n")
sys.exit(bool(faults))
