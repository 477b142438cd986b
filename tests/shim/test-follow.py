# SPDX-License-Identifier: Apache-2.0
"""test-follow.py FOLLOW-TRACE SHIM ALLOC-THREADS: a trace that is followed while a program writes it gives what a reader
gives of the finished one, to the last event: where the program ends, is killed, or keeps its newest events only."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import check, finish

follow, shim, alloc_threads = (os.path.abspath(path) for path in sys.argv[1:])


def run(folder, arguments, **settings):
    trace = folder / "t.mtap"
    follower = subprocess.Popen([follow, trace], stdout=subprocess.PIPE, text=True)
    environment = {**os.environ, "LD_PRELOAD": shim, "MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1",
                   "ALLOC_COUNTS": str(folder / "counts"), **settings}
    subprocess.run([alloc_threads, *arguments], env=environment, check=False, stderr=subprocess.DEVNULL)
    given = follower.communicate(timeout=120)[0].split()
    finished = subprocess.run([follow, trace, "read"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return given, finished


for what, arguments, state in (("that ends", ["3", "200000"], "closed"),
                               ("that is killed", ["3", "100000000", "kill", "400000"], "killed"),
                               ("that leaves", ["2", "100000000", "_exit", "100000"], "closed")):
    with tempfile.TemporaryDirectory() as folder:
        given, finished = run(pathlib.Path(folder), arguments)
        check(given == finished and given[-1] == state and int(given[0]) > 100000 and
              (given[4] == "0" or given[3] != "0"), f"a program {what}", given, finished)
given = finished = None
while given == finished:  # the follower came when the oldest events had been dropped
    with tempfile.TemporaryDirectory() as folder:
        given, finished = run(pathlib.Path(folder), ["2", "500000"], MEMTAP_KEEP="1M")
# all that was dropped from the trace meanwhile, too, unless the follower was too slow for that
check(given[-1] == finished[-1] == "closed" and (given[4] == "0" or given[3] != "0") and
      (int(given[0]) > int(finished[0]) or int(given[5])), "a bounded trace", given, finished)
finish()
