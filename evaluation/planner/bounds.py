# SPDX-License-Identifier: Apache-2.0
"""bounds.py TOOL [SHAPE]... [--whole] [--save] [--keep FOLDER]: does a bound that memtap prints hold? Records the programs of shaped.py, asks
for changes, makes them in the program and runs it again: where memtap gives a bound, the peak has to be within; where it gives two candidates,
it says so. Then the same of a run on cards that have a part of what it needs, whose traces end as memory runs out: no bound is given there.
TOOL: build/tests/planner/model-changes. --save writes evaluation/results/bounds.csv. --keep: traces and peaks are kept there, so that another build is
asked about the same runs in seconds."""
import argparse
import contextlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parents[1] / "tests"
sys.path[:0] = [str(HERE), str(TESTS / "planner"), str(TESTS / "torch"), str(HERE.parent)]
import answers  # noqa: E402
import cut  # noqa: E402
import harness  # noqa: E402
import modelled  # noqa: E402
import results  # noqa: E402

PROGRAM = HERE / "shaped.py"
TABLES = [line for name in ("shaped.py", "kinds.py") for line in (HERE / name).read_text().splitlines() if line.startswith('    "')]
SHAPES = [line.split('"')[1] for line in TABLES if "Norm)" in line or "lambda" in line or "text(" in line]
NO_SEQUENCE = [line.split('"')[1] for line in TABLES if "IMAGE" in line or "VECTOR" in line or "Mixer" in line]
CHANGES = [("batch:1/2", "--batch-part 1/2"), ("batch:2", "--batch-part 2"), ("sequence:1/2", "--sequence-part 1/2"), ("precision:bf16", "--bf16"),
           ("precision:autocast", "--autocast"), ("checkpoint:layers.*", "--checkpoint layers.*"), ("lora:16", "--lora 16"),
           ("offload:activations", "--save-on-cpu")]
PARTS = (0.25, 0.4, 0.6, 0.8, 0.95)
PROGRAMS = [(shape, "") for shape in SHAPES] + [("d-is-s-scores", "--lengths 1,1/2,3/4"), ("4d-is-3s-fused", "--lengths 3/4,1,1/4")]


def judge(told, real):
    """(what memtap says, whether the run agrees)."""
    bound, other = told["error_per_thousand"], told["or_peak"]
    if bound is not None:
        return f"within {bound / 10:.1f}%", "yes" if abs(told["new_peak"] / real - 1) * 1000 <= bound else "NO"
    if other is None:
        return "no bound", ""
    low, high = sorted((told["new_peak"], other))
    return f"or {other / 2**20:,.0f}", "yes" if low * 0.97 <= real <= high * 1.03 else "neither"


def row(program, change, recorded, told, real):
    if "new_peak" not in told or not real:
        print(f"| {program} | {change} | {told.get('why_not') or 'the program does not run with it'} |", flush=True)
        return None
    said = [program, change, *(f"{size / 2**20:.0f}" for size in (recorded, told["new_peak"], real)),
            f"{told['new_peak'] / real - 1:+.1%}", *judge(told, real)]
    print("| " + " | ".join(said) + " |", flush=True)
    return said


class Runs:
    """Programs' runs, each made once: of those that a trace is asked for it is kept, of all what they said."""

    def __init__(self, folder):
        self.folder, self.path = folder, folder / "peaks.json"
        self.known = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.stack, self.forks = contextlib.ExitStack(), None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def trace(self, *words):
        return self.folder / ("_".join(str(word).replace("/", ":") for word in words) + ".mtap")

    def run(self, program, options="", memory=None):
        """(peak, reserved); None: memory ran out."""
        key = f"{program} {options} {memory or ''}".strip()
        if key not in self.known:
            self.forks = self.forks or self.stack.enter_context(harness.Forks(PROGRAM))
            trace = self.folder / "changed.mtap" if options else self.trace(program, memory or "whole")
            card = {"CUDASIM_MEMORY": str(answers.CONTEXT + memory)} if memory else {}
            self.known[key] = cut.measured(self.forks, trace, f"{program} {options}".split(), PROGRAM, **card)
            self.path.write_text(json.dumps(self.known, indent=1))
        return self.known[key]


def rows(tool, names, parts, folder):
    """A program's after the other, as lists."""
    with Runs(folder) as runs:
        for shape, more in PROGRAMS:
            program = f"{shape} {more}".strip()
            if names and shape not in names and program not in names:
                continue
            whole, reserved = runs.run(program)
            asked = [(change, options, modelled.modelled(tool, runs.trace(program, "whole"), change)) for change, options in CHANGES
                     if shape not in NO_SEQUENCE or not change.startswith("sequence")]
            real = {change: "new_peak" in told and runs.run(program, options)[0] for change, options, told in asked}
            found = [row(program, change, whole, told, real[change]) for change, _, told in asked]
            for part in parts:
                memory = int(reserved * part)
                ended = runs.run(program, memory=memory)[0] is None
                if ended:  # else it goes on with its cache emptied
                    told = json.loads(harness.must_run([tool, runs.trace(program, memory), *real]).stdout)
                    found += [row(f"{program}, cut at {part:.0%}", one["change"], told["recorded"], one, real[one["change"]])
                              for one in told["changes"]]
            yield [said for said in found if said]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--whole", action="store_true", help="no cut traces")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--keep", type=Path, help="folder for runs, which are not made again")
    args = parser.parse_args()
    harness.need_torch()
    found = []
    with harness.folder() as work:
        folder = args.keep or Path(work)
        folder.mkdir(parents=True, exist_ok=True)
        for of_program in rows(args.tool.resolve(), args.names, () if args.whole else PARTS, folder):
            found += of_program
            if args.save:
                results.save("bounds", ["program", "change", "recorded_mib", "modelled_mib", "run_mib", "off", "says", "agrees"], of_program,
                             harness.MEMTAP, harness.PYTHON)
    bounds = [row for row in found if row[6].startswith("within")]
    print(f"{len(found)} changes: {len(bounds)} with a bound, {sum(row[7] == 'NO' for row in bounds)} of these broken; "
          f"{sum(row[6].startswith('or ') for row in found)} with two candidates")
    harness.check(not any(row[7] == "NO" for row in found), "no bound is broken")
    harness.check(not any(row[6].startswith("within") and ", cut at" in row[0] for row in found), "a cut trace has no bound")
    harness.finish()


if __name__ == "__main__":
    main()
