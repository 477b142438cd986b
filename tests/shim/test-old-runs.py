# SPDX-License-Identifier: Apache-2.0
"""test-old-runs.py SHIM ALLOC-THREADS: MEMTAP_KEEP_RUNS removes the traces of ended runs that are too old, or too much together;
nothing else: no copy, no other's file, no trace with another name, and none of a running process."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from checks import equal, finish, until

shim, alloc_threads = (os.path.abspath(path) for path in sys.argv[1:])


def start(folder, output="run-%p.mtap", turns="2000", **settings):
    environment = {**os.environ, "LD_PRELOAD": shim, "MEMTAP_OUTPUT": f"{folder}/{output}", "MEMTAP_QUIET": "1", **settings}
    return subprocess.Popen([alloc_threads, "1", turns], env=environment, stdout=subprocess.DEVNULL)


def run(folder, **more):
    process = start(folder, **more)
    process.wait()
    return Path(folder) / f"run-{process.pid}.mtap"


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def age(path, days):
    for file in path.parent.glob(path.name + "*"):
        os.utime(file, (time.time() - days * 86400,) * 2)


with tempfile.TemporaryDirectory() as folder:
    old, young = run(folder), run(folder)
    others = old.with_suffix(".1.mtap"), Path(folder, "run-2.mtap"), Path(folder, "notes.mtap"), Path(folder, "run-x.mtap")
    shutil.copy(old, others[0])  # which its process has not written
    others[1].write_text("not a trace")
    shutil.copy(old, others[2])
    old.with_name("away").write_bytes(b"")
    run(folder, output="run-x.mtap")
    lives = start(folder, turns="100000000")
    living = Path(folder, f"run-{lives.pid}.mtap")
    until(lambda: living.exists() and living.stat().st_size)
    for path in (old, living, *others):
        age(path, 30)
    stay = sorted([young.name, "away", *(path.name for path in others)])
    newest = run(folder, MEMTAP_KEEP_RUNS="14d")
    equal("an old run is removed", [name for name in names(folder) if not name.startswith(living.name)], sorted([*stay, newest.name]))
    equal("a living one is not", living.exists(), True)
    lives.send_signal(signal.SIGKILL)
    lives.wait()
    tail = [name for name in names(folder) if name.endswith(".tail")]
    age(living, 20)
    again = run(folder, MEMTAP_KEEP_RUNS="14d,100G")
    equal("a killed run goes with its tail", names(folder), sorted([*stay, newest.name, again.name]))
    print("with a tail" if tail else "without a tail")
    for path, days in ((young, 3), (newest, 2), (again, 1)):
        age(path, days)
    size = again.stat().st_blocks * 512 + newest.stat().st_blocks * 512
    last = run(folder, MEMTAP_KEEP_RUNS=str(size))
    equal("the newest stay, as many as have room", names(folder),
          sorted({*stay, newest.name, again.name, last.name} - {young.name}))
    for bound in ("all", "all", "1"):
        run(folder, output="single.mtap", MEMTAP_KEEP_RUNS=bound)
    equal("numbered names are the same output's", [name for name in names(folder) if name.startswith("single")], ["single.2.mtap"])
finish()
