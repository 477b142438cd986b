# SPDX-License-Identifier: Apache-2.0
"""Runs a command and prints the time that it took, its processor time and the most memory that its processes had together
(PSS, looked at five times a second), by hand: measure.py COMMAND..."""
import os
import pathlib
import resource
import subprocess
import sys
import time


def tree(pid):
    found = [pid]
    for one in found:
        for path in pathlib.Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += map(int, path.read_text().split())
            except OSError:
                pass
    return found


def memory(pids):
    total = 0
    for pid in pids:
        try:
            lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return total


def main():
    begin, most = time.monotonic(), 0
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
    while process.poll() is None:
        most = max(most, memory(tree(process.pid)))
        time.sleep(0.2)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{time.monotonic() - begin:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of CPU, {most / (1 << 20):.0f} MiB, "
          f"exit code {process.returncode}, load {os.getloadavg()[0]:.1f}: {' '.join(sys.argv[1:])}")
    return process.returncode


sys.exit(main())
