# SPDX-License-Identifier: Apache-2.0
"""replay.py MAKE-TRACE MEMTAP: from a made-up trace to the finished report: events a second with one
core and on two, seconds and host memory. MEMTAP_BENCH_EVENTS: how many events; the memory is to be the
same for 100 million (a trace of 160 MB, which is removed)."""
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

make_trace, memtap = sys.argv[1:]
events = int(os.environ.get("MEMTAP_BENCH_EVENTS", "10000000"))
turns = int(os.environ.get("MEMTAP_BENCH_TURNS", "3"))


def report(trace, cores):
    """Seconds, and bytes of host memory."""
    begin = time.monotonic()
    process = subprocess.Popen([memtap, "report", trace], stdout=subprocess.DEVNULL,
                               preexec_fn=lambda: os.sched_setaffinity(0, cores))
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"memtap report ends with {status}")
    return time.monotonic() - begin, usage.ru_maxrss * 1024


with tempfile.TemporaryDirectory() as folder:
    trace = Path(folder) / "made-up.mtap"
    subprocess.run([make_trace, trace, str(events)], check=True)
    have = sorted(os.sched_getaffinity(0))
    for cores in (have[:1], have[:2]):
        runs = [report(trace, cores) for _ in range(turns)]
        seconds = statistics.median(run[0] for run in runs)
        print(f"replay_{len(cores)}_cores {events / seconds / 1e6:.2f} Mevents/s")
        print(f"replay_{len(cores)}_cores_time {seconds:.3f} s")
        print(f"replay_{len(cores)}_cores_memory {max(run[1] for run in runs) / 2**20:.1f} MiB")
