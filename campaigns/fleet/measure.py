# SPDX-License-Identifier: Apache-2.0
"""Runs a command and prints the time that it took, the processor time and the most memory that its processes had together
(PSS, looked at five times a second; the time of a process up to the last look), by hand: measure.py COMMAND..."""
import os
import pathlib
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


def processor_time(pid):
    """In seconds; 0: the process has ended."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    begin, most, times = time.monotonic(), 0, {}
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
    while process.poll() is None:
        pids = tree(process.pid)
        times.update({pid: max(processor_time(pid), times.get(pid, 0)) for pid in pids})
        most = max(most, memory(pids))
        time.sleep(0.2)
    print(f"{time.monotonic() - begin:.1f} s, {sum(times.values()):.1f} s of CPU, {most / (1 << 20):.0f} MiB, "
          f"exit code {process.returncode}, load {os.getloadavg()[0]:.1f}: {' '.join(sys.argv[1:])}")
    return process.returncode


sys.exit(main())
