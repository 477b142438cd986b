# SPDX-License-Identifier: Apache-2.0
"""What memtap looks up of gradients and optimizers' state grows with their number, not faster: programs
with n parameters and with four times as many, by the work that their traces tell (no times)."""
import json
from pathlib import Path

import harness

PROGRAM = Path(__file__).resolve().with_name("growth.py")
# Cases, how many parameters (or parts of a module), and how many reads and system calls one more of them may take at most, of
# all three steps together: about twice what Python 3.11 takes, and thrice the calls, which vary with where the heap lies; were
# they to grow faster than the parameters, they would be hundreds.
CASES = {
    "gradients": (300, 12, 0.5), "main_grad": (300, 300, 10), "state_keys": (300, 200, 12),
    "optimizers": (100, 440, 22), "parts": (1200, 90, 6),
}


def work(forks, trace, case, n):
    code, output = forks.run(trace, PROGRAM, case, n)
    if not harness.equal(f"exit code of growth.py {case} {n}", code, 0):
        print(output)
        harness.finish()
    done = harness.must_run([harness.MEMTAP, "dump", "--format", "json", trace])
    info = {}
    for line in done.stdout.splitlines():
        record = json.loads(line)
        if record["record"] == "info":
            key, _, value = record["text"].partition("=")
            info[key] = value
    trace.unlink()
    return int(info["lookup_reads"]), int(info["lookup_calls"])


def main():
    harness.need_torch()
    with harness.folder() as folder, harness.Forks(PROGRAM) as forks:
        for case, (n, most_reads, most_calls) in CASES.items():
            few, many = (work(forks, Path(folder) / "growth.mtap", case, count) for count in (n, 4 * n))
            reads, calls = ((b - a) / (3 * n) for a, b in zip(few, many))
            print(f"{case}: {reads:.0f} reads, {calls:.1f} system calls each", flush=True)
            harness.check(reads <= most_reads, f"{case}: at most {most_reads} reads each")
            harness.check(calls <= most_calls, f"{case}: at most {most_calls} system calls each")
    harness.finish()


main()
