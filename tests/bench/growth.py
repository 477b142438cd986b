# SPDX-License-Identifier: Apache-2.0
"""growth.py [--table FILE] [CASE:N...]: programs with N new objects of a kind (growth_program.py), on the
simulated device, alone and with memtap: the processor's seconds of the program's threads in the first pass
and in a later one (the least of MEMTAP_BENCH_TURNS; of `processes` the children's), the ratios, and what a new object costs in the first
pass. --table writes them into the table of docs/growth.md."""
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "torch"))
import harness

PROGRAM = Path(__file__).resolve().with_name("growth_program.py")
TURNS = int(os.environ.get("MEMTAP_BENCH_TURNS", "3"))
CASES = ["alone:100", "alone:600", "alone:3000", "alone:20000", "alone:100000", "lora:600", "flat:100", "flat:3000",
         "flat:10000", "flat:100000",
         "shuffled:3000", "tree:3000", "nested:150", "shared:1000", "containers:400", "anew:1500",
         "growing:500", "growing:2000", "optimizers:500", "parameters:3000", "buffers:1000",
         "stacks:20000", "code:3000", "code_anew:3000", "blocks:20000", "streams:300", "threads:500",
         "functions:500", "processes:50"]


def seconds(forks, trace, case, n):
    trace.unlink(missing_ok=True)
    code, output = forks.run(trace, PROGRAM, case, n, env={"MEMTAP_QUIET": "1"})
    if code:
        sys.exit(f"growth_program.py {case} {n} ends with {code}: {output}")
    return [float(word) for word in output.split()[-2:]]


def measure(case, n, kinds, trace):
    """kinds: a process of each that forks one for each run."""
    found = [[] for _ in kinds]
    for _ in range(TURNS):
        for forks, times in zip(kinds, found):
            times.append(seconds(forks, trace, case, n))
    return [min(each) for times in found for each in zip(*times)]


def row(case, n, kinds, trace):
    first, later, traced, traced_later = measure(case, n, kinds, trace)
    cells = [case, f"{int(n):,}", f"{1e3 * first:.1f}", f"{1e3 * traced:.1f}", f"{traced / first:.2f}",
             f"{1e6 * (traced - first) / int(n):.1f}", f"{1e3 * later:.1f}", f"{1e3 * traced_later:.1f}",
             f"{1e6 * (traced_later - later) / int(n):.1f}"]
    print("| " + " | ".join(cells) + " |", flush=True)
    return cells


def main():
    arguments, table = sys.argv[1:], None
    if arguments[:1] == ["--table"]:
        table, arguments = Path(arguments[1]), arguments[2:]
    harness.need_torch()
    with harness.folder() as work:
        with harness.Forks(before=harness.alone()) as alone, harness.Forks() as traced:
            rows = [row(*case.split(":"), (alone, traced), Path(work) / "growth.mtap")
                    for case in arguments or CASES]
    if table:
        lines = "".join("| " + " | ".join(cells) + " |\n" for cells in rows)
        text = table.read_text()
        table.write_text(re.sub(r"(\|---[-|]*\|\n)(\|.*\n)*", lambda found: found[1] + lines, text, count=1))


main()
