# SPDX-License-Identifier: Apache-2.0
"""cut.py TOOL [PART...] [--save]: how far what is modelled of a run that ran out of memory is from the run. Records programs of
models.py on cards that have a part of what they reserve on a large one, and compares the peak that is modelled beyond the
request that failed with that of the whole run, as it is and with a change. TOOL: build/tests/planner/model-changes. --save writes the rows into evaluation/results/cut.csv."""
import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "torch"), str(HERE.parents[1] / "evaluation")]
import harness  # noqa: E402
import results  # noqa: E402
from harness import check  # noqa: E402

CHANGED = HERE / "changed.py"
CONTEXT = 531 << 20
# The program, and a change with what is added to the arguments for it.
CASES = [("gpt-small", "checkpoint:layers.*", "--checkpoint layers.*"),
         ("gpt", "batch:1/2", "--batch-part 1/2"),
         ("llama", "checkpoint:layers.*", "--checkpoint layers.*"),
         ("scores", "batch:1/2", "--batch-part 1/2")]
PARTS = (0.3, 0.5, 0.7, 0.9)
MOST = 0.15  # of each; no bound is promised


def measured(forks, trace, words, program=CHANGED, **environment):
    """(peak, reserved) that the program says; None: it ran out of memory."""
    trace.unlink(missing_ok=True)
    _, output = forks.run(trace, program, *words, env=environment)
    said = {line.split()[0]: int(line.split()[1]) for line in output.splitlines()
            if line.startswith(("peak ", "reserved "))}
    return said.get("peak"), said.get("reserved")


def record(forks, trace, words, reserved, program=CHANGED):
    """The peak on a card that lets PyTorch reserve so many bytes."""
    return measured(forks, trace, words, program, CUDASIM_MEMORY=str(CONTEXT + reserved))[0]


def leaves_room(what, trace, live):
    """memtap plan says that a change fits only where much of what is modelled could be wrong; else that it may."""
    ways = json.loads(harness.run([harness.MEMTAP, "plan", "--format", "json", trace]).stdout)["answer"]["ways"]
    check(ways, f"{what}: there are ways")
    for way in ways:
        check(not way["fits"] or len(way["changes"]) != 1 or way["free"] >= live / 8, f"{what}: {way['changes']} leaves {way['free']} of {live}")


def rows(tool, cases, parts):
    with harness.folder() as work, harness.Forks(CHANGED) as forks:
        trace = Path(work) / "a.mtap"
        for model, change, more in cases:
            peak, reserved = measured(forks, trace, [model])
            with_change, _ = measured(forks, trace, [model, *more.split()])
            for part in parts:
                record(forks, trace, [model], int(reserved * part))
                told = json.loads(harness.must_run([tool, trace, change]).stdout)
                leaves_room(f"{model} {part}", trace, told["recorded"])
                row = told["changes"][0]
                yield (model, part, row.get("through"), told["computed"], peak, change, row.get("new_peak"), with_change,
                       row.get("error_per_thousand"))


COLUMNS = ["program", "card", "through", "modelled_mib", "run_mib", "off", "change", "changed_modelled_mib", "changed_run_mib",
           "changed_off"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", type=Path)
    parser.add_argument("parts", nargs="*", type=float, help="of what the first program reserves; without, all programs run")
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    harness.need_torch()
    found = []
    cases = CASES if not args.parts else CASES[:1]
    for model, part, through, told, peak, change, new, real, bound in rows(args.tool.resolve(), cases, args.parts or PARTS):
        off, off_change = told / peak - 1, new / real - 1
        found.append([model, f"{part:.0%}", through, told >> 20, peak >> 20, f"{off:+.1%}", change, new >> 20, real >> 20,
                      f"{off_change:+.1%}"])
        print(*found[-1], sep=", ", flush=True)
        check(bound is None, f"{model} {part}: no bound is given")
        check(through in ("step", "next"), f"{model} {part}: this iteration is modelled")
        check(max(abs(off), abs(off_change)) <= MOST, f"{model} {part}: within {MOST:.0%}")
    if args.save:
        results.save("cut", COLUMNS, found, harness.MEMTAP, harness.PYTHON, key=2)
    harness.finish()


if __name__ == "__main__":
    main()
