# SPDX-License-Identifier: Apache-2.0
"""bounds.py TOOL [SHAPE]... [--save]: does a bound that memtap prints hold? Records the programs of shaped.py, asks for changes, makes
them in the program and runs it again: where memtap gives a bound, the peak has to be within; where it gives two candidates, it says so.
TOOL: build/tests/planner/model-changes. --save writes results/bounds.csv."""
import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parents[1] / "tests"
sys.path[:0] = [str(TESTS / "planner"), str(TESTS / "torch"), str(HERE.parent)]
import harness  # noqa: E402
import modelled  # noqa: E402

import results  # noqa: E402

PROGRAM = HERE / "shaped.py"
SHAPES = [line.split('"')[1] for line in PROGRAM.read_text().splitlines() if line.startswith('    "') and "Norm)" in line]
CHANGES = [("batch:1/2", "--batch-part 1/2"), ("sequence:1/2", "--sequence-part 1/2"), ("precision:bf16", "--bf16"),
           ("precision:autocast", "--autocast"), ("checkpoint:layers.*", "--checkpoint layers.*"), ("lora:16", "--lora 16"),
           ("offload:activations", "--save-on-cpu")]
PROGRAMS = [(shape, "") for shape in SHAPES] + [("d-is-s-scores", "--lengths 1,1/2,3/4"), ("4d-is-3s-fused", "--lengths 3/4,1,1/4")]


def judge(told, real):
    """(what memtap says, whether the run agrees)."""
    bound, other = told["error_per_thousand"], told["or_peak"]
    if bound is not None:
        return f"within {bound / 10:.1f}%", "yes" if abs(told["new_peak"] / real - 1) * 1000 <= bound else "NO"
    low, high = sorted((told["new_peak"], other))
    return f"or {other / 2**20:,.0f}", "yes" if low * 0.97 <= real <= high * 1.03 else "neither"


def rows(tool, names):
    with harness.folder() as work, harness.Forks(PROGRAM) as forks:
        before, after = Path(work) / "before.mtap", Path(work) / "after.mtap"
        for shape, more in PROGRAMS:
            program = f"{shape} {more}".strip()
            if names and shape not in names and program not in names:
                continue
            recorded = modelled.peak(forks, before, program.split(), PROGRAM)
            for change, options in CHANGES:
                told = modelled.modelled(tool, before, change)
                real = modelled.peak(forks, after, f"{program} {options}".split(), PROGRAM)
                if "new_peak" not in told:
                    print(f"| {program} | {change} | {told['why_not']} |")
                    continue
                says, agrees = judge(told, real)
                row = [program, change, *(f"{size / 2**20:.0f}" for size in (recorded, told["new_peak"], real)),
                       f"{told['new_peak'] / real - 1:+.1%}", says, agrees]
                print("| " + " | ".join(row) + " |", flush=True)
                yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    harness.need_torch()
    found = list(rows(args.tool.resolve(), args.names))
    bounds = [row for row in found if row[6].startswith("within")]
    print(f"{len(found)} changes: {len(bounds)} with a bound, {sum(row[7] == 'NO' for row in bounds)} of these broken; "
          f"{sum(row[6].startswith('or ') for row in found)} with two candidates")
    harness.check(not any(row[7] == "NO" for row in found), "no bound is broken")
    if args.save:
        results.save("bounds", ["program", "change", "recorded_mib", "modelled_mib", "run_mib", "off", "says", "agrees"], found,
                     harness.MEMTAP, harness.PYTHON)
    harness.finish()


if __name__ == "__main__":
    main()
