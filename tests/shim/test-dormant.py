# SPDX-License-Identifier: Apache-2.0
"""test-dormant.py MEMTAP SHIM SWITCHED: a program that is loaded with the recorder and does not record until it is told to, by memtap
start or by itself; and that stops. A dormant process has no file of ours, no thread, and one descriptor; each start gives one whole
trace with exactly what the program did until the stop."""
import atexit
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from checks import check, equal, finish, until

memtap, shim, switched = (os.path.abspath(path) for path in sys.argv[1:])
os.environ["LD_LIBRARY_PATH"] = os.environ["MEMTAP_TEST_BUILD"]
quiet = {"LD_PRELOAD": shim, "MEMTAP_START": "off", "MEMTAP_QUIET": "1", "MEMTAP_STACKS": "none", "MEMTAP_OUTPUT": "t.mtap"}


def counts(trace):
    """Mallocs, frees, losses; None unless the trace is whole."""
    done = subprocess.run([memtap, "dump", trace], capture_output=True, text=True, check=False)
    whole = not done.returncode and not done.stderr
    return tuple(done.stdout.count(f" {kind} ") for kind in ("cuda_malloc", "cuda_free", "lost")) if whole else None


def runs(name, *arguments, traces, exactly=None, **settings):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([switched, *map(str, arguments)], cwd=folder, env={**os.environ, **quiet, **settings}, text=True,
                              capture_output=True, timeout=250, check=False)
        check((done.returncode, done.stdout) == (0, "done\n"), f"{name}: the program ends as without us", done)
        said = [line for line in done.stderr.splitlines() if "exists; writing" not in line]
        check(not said, f"{name}: nothing is said", *said)
        files = sorted(Path(folder).iterdir())
        check(len(files) == traces and all(file.suffix == ".mtap" for file in files), f"{name}: a trace for each start", *files)
        have = [counts(file) for file in files]
        check(None not in have, f"{name}: each is whole", *have)
        if exactly:
            equal(f"{name}: what each has", set(have), {(exactly, exactly, 0)})


def command(*arguments, cwd=None, **more):
    done = subprocess.run([memtap, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False, **more)
    return done.returncode, done.stdout + done.stderr


def program(folder, **settings):
    process = subprocess.Popen([switched, "1", "1", "1", "wait"], cwd=folder, env={**os.environ, **quiet, **settings})
    atexit.register(process.kill)  # where a fault ends the test
    check(until(lambda: switches(process.pid)), "its first allocation makes it dormant")
    return process


def switches(pid):
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the program has closed it meanwhile
            found += [link] if "memtap-switch" in os.readlink(link) else []
    return found


def threads(pid):
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def check_commands(folder):
    process = program(folder)
    pid = process.pid
    equal("nothing but a switch", (len(switches(pid)), threads(pid), list(folder.iterdir())), (1, 1, []))
    equal("no recording to stop", command("stop", pid)[0], 2)
    code, said = command("start", pid)
    check(code == 0 and said == f"process {pid} is recorded in {folder}/t.mtap\n", "start", said)
    code, said = command("start", pid)
    check(code == 2 and said == f"memtap: process {pid} is recorded already: {folder}/t.mtap\n", "start again", said)
    check(until(lambda: (folder / "t.mtap").stat().st_size > 500), "it writes")
    code, said = command("stop", pid)
    check(code == 0 and said == f"{folder}/t.mtap is complete\n", "stop", said)
    check(until(lambda: threads(pid) == 1) and not list(folder.glob("*.tail")), "dormant again", *folder.iterdir())
    code, said = command("stop", pid)
    check(code == 2 and "is not writing a trace" in said, "stop again", said)
    code, said = command("start", "--seconds", 1, ".", cwd=folder)
    check(code == 0 and f"process {pid} is recorded in {folder}/t.1.mtap" in said, "start all of a folder, for a second", said)
    check(until(lambda: threads(pid) == 1), "which ends by itself")
    equal("a third", command("start", pid)[0], 0)
    (folder / "end").touch()
    equal("the program's end", process.wait(), 0)
    have = {file.name: counts(file) for file in folder.glob("*.mtap")}
    check(len(have) == 3 and None not in have.values(), "three whole traces", have)
    code, said = command("start", pid)
    check(code == 2 and "no such process" in said, "an ended process", said)


def check_ranks(folder):
    ranks = [program(folder, MEMTAP_OUTPUT="r-%p.mtap", RANK=str(rank), WORLD_SIZE="2") for rank in range(2)]
    other = folder / "other"
    other.mkdir()
    apart = program(other)
    code, said = command("start", folder)
    check(code == 0 and said.count(" is recorded in ") == 2, "all ranks of a folder", said)
    code, said = command("stop", folder)
    check(code == 0 and said.count(" is complete") == 2, "and their stop", said)
    (folder / "end").touch()
    equal("ends", [rank.wait() for rank in ranks], [0, 0])
    equal("the folder's", sorted(file.name for file in folder.glob("*.mtap")),
          sorted(f"r-{rank.pid}-rank{number}.mtap" for number, rank in enumerate(ranks)))
    os.kill(apart.pid, 19)  # SIGSTOP: it allocates nothing
    code, said = command("start", apart.pid)
    check(code == 0 and "from its next allocation on" in said, "a process that stands still", said)
    os.kill(apart.pid, 18)
    check(until(lambda: (other / "t.mtap").exists()), "is recorded when it goes on")
    (other / "end").touch()
    equal("its end", apart.wait(), 0)


def check_refusals(folder):
    with subprocess.Popen(["sleep", "100"]) as sleeping:
        code, said = command("start", sleeping.pid)
        check(code == 2 and "does not wait for a start" in said, "a process without memtap", said)
        if not os.geteuid():
            copy = shutil.copy(memtap, folder)
            folder.chmod(0o755)
            done = subprocess.run([copy, "start", str(sleeping.pid)], capture_output=True, text=True, check=False, user=65534)
            check(done.returncode == 2 and "belongs to another user" in done.stderr, "another user's", done)
        sleeping.kill()
    code, said = command("start", folder)
    check(code == 2 and "waits for a start" in said, "an empty folder", said)
    process = program(folder, MEMTAP_OUTPUT="/proc/nowhere/t.mtap")
    code, said = command("start", process.pid)
    check(code == 2 and "could not create its trace" in said, "a trace that cannot be created", said)
    (folder / "end").touch()
    equal("the program goes on", process.wait(), 0)


def check_run(folder):
    (folder / "end").touch()
    code, said = command("run", "--dormant", "--", switched, 1, 1, 1, "wait", cwd=folder)
    check(code == 0 and "no recording was started" in said and not list(folder.glob("*.mtap")), "never started", said)
    code, said = command("run", "-o", "on.mtap", "--", switched, 4, 3, 10, cwd=folder)  # it starts and stops itself
    equal("and from the beginning on", (code, len(list(folder.glob("on*.mtap")))), (0, 3))


runs("200 times", 4, 200, 25, traces=200, exactly=100)
runs("while threads allocate", 4, 20, 25, "free", traces=20)
runs("without a thread", 4, 20, 25, traces=20, exactly=100, MEMTAP_THREAD="0")
runs("without a thread, while threads allocate", 4, 10, 25, "free", traces=10, MEMTAP_THREAD="0")
runs("bounded, with native stacks", 4, 20, 25, traces=20, exactly=100, MEMTAP_KEEP="1M", MEMTAP_STACKS="native")
for part in (check_commands, check_ranks, check_refusals, check_run):
    with tempfile.TemporaryDirectory() as path:
        part(Path(path).resolve())
finish()
