# SPDX-License-Identifier: Apache-2.0
"""diff.py MAKE-TRACE MEMTAP: comparing two made-up traces on two cores: seconds, and host memory.
MEMTAP_BENCH_EVENTS: how many events each has."""
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


def diff(old, new, cores):
    """Seconds, and bytes of host memory."""
    begin = time.monotonic()
    process = subprocess.Popen([memtap, "diff", old, new], stdout=subprocess.DEVNULL,
                               preexec_fn=lambda: os.sched_setaffinity(0, cores))
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"memtap diff ends with {status}")
    return time.monotonic() - begin, usage.ru_maxrss * 1024


with tempfile.TemporaryDirectory() as folder:
    old, new = Path(folder) / "old.mtap", Path(folder) / "new.mtap"
    subprocess.run([make_trace, old, str(events)], check=True)
    subprocess.run([make_trace, new, str(events + events // 100)], check=True)
    cores = sorted(os.sched_getaffinity(0))[:2]
    runs = [diff(old, new, cores) for _ in range(turns)]
    print(f"diff_time {statistics.median(run[0] for run in runs):.3f} s")
    print(f"diff_memory {max(run[1] for run in runs) / 2**20:.1f} MiB")
