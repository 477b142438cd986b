# SPDX-License-Identifier: Apache-2.0
"""Runs a command and prints the time that it took, the processor time and the most memory that its processes had together
(PSS, looked at five times a second; the time of a process up to the last look), by hand:

    measure.py COMMAND...
    measure.py --save "fleet over traces" 4096 COMMAND...    # a row of evaluation/results/fleet.csv: what it does, of how many ranks"""
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "evaluation"))
import results  # noqa: E402


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


def main(words):
    what, words = (words[1:3], words[3:]) if words[0] == "--save" else ([], words)
    begin, most, times = time.monotonic(), 0, {}
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        pids = tree(process.pid)
        times.update({pid: max(processor_time(pid), times.get(pid, 0)) for pid in pids})
        most = max(most, memory(pids))
        time.sleep(0.2)
    spent = f"{sum(times.values()):.1f}", f"{most / (1 << 20):.0f}"
    print(f"{time.monotonic() - begin:.1f} s, {spent[0]} s of CPU, {spent[1]} MiB, exit code {process.returncode}, "
          f"load {os.getloadavg()[0]:.1f}: {' '.join(words)}")
    if what:
        results.save("fleet", ["what", "ranks", "cpu_seconds", "mib"], [[*what, *spent]], ROOT / "build/tools/memtap", sys.executable, key=2)
    return process.returncode


sys.exit(main(sys.argv[1:]))
