# SPDX-License-Identifier: Apache-2.0
"""What memtap top takes, and what it takes from the program that it watches: qwen_loop.py, recorded on the simulated
device, takes steps in turns in which memtap top runs beside it on a terminal of 80x24, or is stopped; then with memtap top
beside it all the time. Prints `name value unit` lines: the ratio of a step beside it to one alone, pair by pair (in which
memtap top reads what came while it was stopped, too), and the part of a core that it takes."""
import json
import os
import pty
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import bench
import harness

STEPS = 15


def drain(terminal):
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:  # memtap top has ended
        pass


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def events(trace):
    info = subprocess.run([harness.MEMTAP, "info", "--format", "json", trace], stdout=subprocess.PIPE, check=True)
    return json.loads(info.stdout)["events"]


def main():
    harness.need_torch("transformers")
    with harness.folder() as work:
        trace = Path(work) / "loop.mtap"
        loop = bench.Loop(harness.recorded(trace, "-q"))
        loop.take(20)
        pid, terminal = pty.fork()
        if not pid:
            os.environ["TERM"] = "xterm"
            os.execv(harness.MEMTAP, [harness.MEMTAP, "top", str(trace)])
        threading.Thread(target=drain, args=[terminal], daemon=True).start()
        time.sleep(3)
        times = {True: [], False: []}
        for _ in range(2 * bench.TURNS):
            for is_beside in (True, False):
                os.kill(pid, signal.SIGCONT if is_beside else signal.SIGSTOP)
                loop.take(STEPS)
                times[is_beside].append(loop.times.pop())
        os.kill(pid, signal.SIGCONT)
        loop.take(200)  # it reads what came meanwhile
        cpu, wall, first = cpu_seconds(pid), time.monotonic(), events(trace)
        for _ in range(2 * bench.TURNS):
            loop.take(2 * STEPS)
        cpu, wall, last = cpu_seconds(pid) - cpu, time.monotonic() - wall, events(trace)
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        loop.end()
        ratios = [a / b for a, b in zip(times[True], times[False])]
        bench.show("top_part_of_a_core", 100 * cpu / wall, "%")
        bench.show("top_loop_ratio", statistics.median(ratios), "ratio")
        bench.show("top_loop_step", statistics.median(times[False]), "ms")
        bench.show("top_events", (last - first) / wall / 1000, "thousand/s")
    sys.exit(1 if harness.failures else 0)


main()
