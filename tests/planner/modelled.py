# SPDX-License-Identifier: Apache-2.0
"""How far modelled changes are from the same changes made: records each program of models.py, asks for a change,
makes that change in the program and runs it again, and compares the peaks. With --save it writes
evaluation/results/changes.csv; with --libraries it makes 8-bit optimizers and LoRA by bitsandbytes and peft, which the
tests' Python has to have, instead of by tensors of the same sizes; with names ("gpt", "zero3") it runs the cases that have one of them."""
import argparse
import json
import statistics
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "torch"), str(HERE.parents[1] / "evaluation")]
import harness  # noqa: E402
import results  # noqa: E402
from cases import CASES, QUICK  # noqa: E402
from harness import check  # noqa: E402

CHANGED = HERE / "changed.py"
COLUMNS = ["program", "change", "recorded_mib", "modelled_mib", "run_mib", "off"]
MEDIAN, NINE_OF_TEN = 0.02, 0.05
QUICK_MOST = 0.02  # of each


def peak(forks, trace, command, program=CHANGED):
    trace.unlink(missing_ok=True)
    code, output = forks.run(trace, program, *command)
    found = [int(line.split()[1]) for line in output.splitlines() if line.startswith("peak ")]
    if code or len(found) != 1:
        print(output)
        check(False, f"{' '.join(command)}: exit code {code}")
        return None
    return found[0]


def modelled(tool, trace, change):
    told = json.loads(harness.must_run([tool, trace, change]).stdout or "{}")
    harness.equal("the blocks make the recorded peak", told["computed"], told["recorded"])
    return told["changes"][0]


def by_library(case):
    """The same case, made by the libraries that people use."""
    base, change, after = case
    return base, change, after.replace("adam8bit", "bitsandbytes").replace("--lora", "--peft")


def chosen(args):
    names = set(args.names)
    cases = CASES
    if args.libraries:
        cases = [by_library(case) for case in CASES if by_library(case) != case]
    return [case for case in cases
            if (not args.quick or case[:2] in QUICK) and
            (not names or names & {case[0], case[1], case[1].split(":")[0], *case[0].split(), "+" if "+" in case[1] else ""})]


def run(tool, cases):
    """(program, change, recorded peak, modelled peak, peak when run, the other candidate, bound) of each case."""
    rows, befores = [], {}
    with harness.folder() as work, harness.Forks(CHANGED) as forks:
        trace = Path(work) / "before.mtap"
        recorded = None
        for base, change, after in cases:
            if recorded != base:
                befores[base] = peak(forks, trace, base.split())
                recorded = base
            told = modelled(tool, trace, change)
            real = peak(forks, Path(work) / "after.mtap", after.split())
            if "new_peak" not in told or not real or not befores[base]:
                check(False, f"{base}, {change}: {told}")
                continue
            rows.append((base, change, befores[base], told["new_peak"], real, told["or_peak"], told["error_per_thousand"]))
            print(*line(rows[-1]), sep=", ", flush=True)
    return rows


def error(row):
    """Of two candidates that of the nearer one."""
    return min((told / row[4] - 1 for told in (row[3], row[5]) if told), key=abs)


def holds(row):
    """Whether the bound that memtap printed does; without one, whether a candidate is near."""
    return abs(error(row)) <= (QUICK_MOST if row[6] is None else row[6] / 1000)


def line(row):
    base, change, before, told, real, other, _ = row
    told = f"{told / 2**20:.0f}" + (f" or {other / 2**20:.0f}" if other else "")
    return [base, change, f"{before / 2**20:.0f}", told, f"{real / 2**20:.0f}", f"{error(row):+.1%}"]


def summary(rows):
    errors = sorted(abs(error(row)) for row in rows)
    return statistics.median(errors), errors[max(0, -(-len(errors) * 9 // 10) - 1)], errors[-1]


def by_kind(rows):
    kinds = {}
    for row in rows:
        kinds.setdefault("two together" if "+" in row[1] else row[1].split(":")[0], []).append(row)
    return kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", type=Path, help="build/tests/planner/model-changes")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--save", action="store_true", help="write the rows into evaluation/results/changes.csv")
    parser.add_argument("--quick", action="store_true", help="a few cases, each of which has to be close")
    parser.add_argument("--libraries", action="store_true", help="by bitsandbytes and peft")
    args = parser.parse_args()
    if args.save and args.libraries:
        parser.error("--save writes the rows without --libraries; give one of them")
    harness.need_torch(*(["bitsandbytes", "peft"] if args.libraries else []))
    rows = run(args.tool.resolve(), chosen(args))
    if not rows:
        harness.check(False, "no case has such a name")
        harness.finish()
    for kind, some in by_kind(rows).items():
        print(f"{kind}: {len(some)} cases, median {summary(some)[0]:.2%}, nine of ten {summary(some)[1]:.2%}, "
              f"largest {summary(some)[2]:.2%}")
    median, most, largest = summary(rows)
    print(f"{len(rows)} cases: median {median:.2%}, nine of ten within {most:.2%}, largest {largest:.2%}")
    check(not args.quick or (largest <= QUICK_MOST and len(rows) == len(QUICK)), f"each of a few is within {QUICK_MOST:.0%}")
    check(not args.quick or all(holds(row) for row in rows), "each is within its bound")
    check(median <= MEDIAN, f"the median is at most {MEDIAN:.0%}")
    check(most <= NINE_OF_TEN, f"nine of ten are within {NINE_OF_TEN:.0%}")
    if args.save:
        results.save("changes", COLUMNS, map(line, rows), harness.MEMTAP, harness.PYTHON, key=2)
    harness.finish()


if __name__ == "__main__":
    main()
