# SPDX-License-Identifier: Apache-2.0
"""What memtap looks up outside the hot path grows with the number of objects, not faster: programs with n
and with four times as many modules, by the work that their traces tell (no times)."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pythons

here = pathlib.Path(__file__).resolve().parent
# Cases, how many modules, and how many reads and system calls one more of them may take at most, of
# all passes together. Python 3.8 to 3.13 take about a half of the reads, and a third of the calls.
CASES = {
    "alone": (400, 30, 10), "flat": (400, 80, 6), "backwards": (400, 80, 6), "tree": (400, 90, 6),
    "nested": (30, 90, 8), "shared": (400, 100, 14), "containers": (400, 95, 14),
    "anew": (400, 50, 14), "growing": (400, 150, 12),
}


def work(python, folder, case, n):
    """Reads and calls, and how many allocations the trace has."""
    trace = folder / f"{case}-{n}.mtap"
    subprocess.run([python, here / "growth-program.py", case, str(n)], check=True,
                   env={**os.environ, "LD_PRELOAD": os.environ["MEMTAP_TEST_SHIM"],
                        "MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1", "PYTHONUTF8": "1"})
    listing = subprocess.run([os.environ["MEMTAP"], "dump", "--format", "json", trace], check=True,
                             stdout=subprocess.PIPE)
    trace.unlink()
    info, events = {}, 0
    for line in listing.stdout.decode().splitlines():
        record = json.loads(line)
        events += record["record"] == "cuda_malloc"
        if record["record"] == "info":
            key, _, value = record["text"].partition("=")
            info[key] = value
    if info["modules"] != "yes":
        sys.exit(f"{python}: no names of modules: {info['modules']}")
    return int(info["lookup_reads"]), int(info["lookup_calls"]), events


def main():
    faults, versions = 0, pythons.found()
    with tempfile.TemporaryDirectory(prefix="memtap-test-") as folder:
        for minor, python in versions:
            for case, (n, most_reads, most_calls) in CASES.items():
                few, many = (work(python, pathlib.Path(folder), case, count) for count in (n, 4 * n))
                reads, calls = ((b - a) / (3 * n) for a, b in zip(few[:2], many[:2]))
                good = reads <= most_reads and calls <= most_calls and many[2] > 3 * few[2]
                faults += not good
                print(f"3.{minor} {case}: {reads:.0f} reads, {calls:.1f} system calls a module"
                      f"{'' if good else ': too many'}", flush=True)
    if not versions:
        print("no Python 3.8 to 3.15 was found")
    sys.exit(faults != 0 or not versions)


main()
