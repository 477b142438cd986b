# SPDX-License-Identifier: Apache-2.0
"""growth.py [--save] [CASE:N...]: programs with N new objects of a kind (growth_program.py), on the
simulated device, alone and with memtap: the processor's seconds of the program's threads in the first pass
and in a later one (the least of MEMTAP_BENCH_TURNS; of `processes` the children's), the ratios, and what a new object costs in the first
pass. --save writes them into evaluation/results/growth.csv."""
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "torch"))
import harness

PROGRAM = Path(__file__).resolve().with_name("growth_program.py")
TURNS = int(os.environ.get("MEMTAP_BENCH_TURNS", "3"))
CASES = ["alone:100", "alone:600", "alone:3000", "alone:20000", "alone:100000", "lora:600", "flat:100", "flat:3000",
         "flat:10000", "flat:100000",
         "shuffled:3000", "tree:3000", "nested:150", "shared:1000", "containers:400", "anew:1500", "models:1500",
         "growing:500", "growing:2000", "optimizers:500", "parameters:3000", "buffers:1000",
         "stacks:20000", "code:3000", "code_anew:3000", "blocks:20000", "streams:300", "threads:500", "busy_threads:2000",
         "contexts:5000", "functions:500", "processes:50"]

COLUMNS = ["case", "first_alone_ms", "first_traced_ms", "ratio", "us_per_new_object", "later_alone_ms", "later_traced_ms",
           "us_per_object"]


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
    cells = [f"{case} {n}", f"{1e3 * first:.1f}", f"{1e3 * traced:.1f}", f"{traced / first:.2f}",
             f"{1e6 * (traced - first) / int(n):.1f}", f"{1e3 * later:.1f}", f"{1e3 * traced_later:.1f}",
             f"{1e6 * (traced_later - later) / int(n):.1f}"]
    print(*cells, flush=True)
    return cells


def main():
    save = sys.argv[1:2] == ["--save"]
    arguments = sys.argv[2:] if save else sys.argv[1:]
    harness.need_torch()
    with harness.folder() as work:
        with harness.Forks(before=harness.alone()) as alone, harness.Forks() as traced:
            rows = [row(*case.split(":"), (alone, traced), Path(work) / "growth.mtap")
                    for case in arguments or CASES]
    if save:
        sys.path.insert(0, str(harness.ROOT / "evaluation"))
        import results
        results.save("growth", COLUMNS, rows, harness.MEMTAP, harness.PYTHON)


main()
