# SPDX-License-Identifier: Apache-2.0
"""late.py [-k PART] [--save]: does the peak fall by what `memtap plan` says when its first advice to `del` is followed? Records the loops of trainers.py
with --uses, and runs each with the variable deleted. Takes minutes; MEMTAP and MEMTAP_TEST_PYTHON as in tests/torch. --save writes
evaluation/results/late.csv."""
import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tests" / "torch"), str(HERE.parent)]
import harness  # noqa: E402
import results  # noqa: E402

PROGRAM = HERE / "trainers.py"
COLUMNS = ["trainer", "advice", "where", "how", "says", "falls", "agrees"]


def compare(name, recorded, plain, folder):
    trace, peaks = Path(folder) / f"{name}.mtap", []
    for forks, arguments in ((recorded, []), (plain, ["follow"])):
        code, output = forks.run(trace, PROGRAM, name, *arguments, env={"MEMTAP_USES": "1"})
        found = re.search(r"^peak (\d+)", output, re.M)
        if code or not found:
            raise SystemExit(f"{name}: {code}, {output[-500:]}")
        peaks.append(int(found[1]))
    found = json.loads(harness.run([harness.MEMTAP, "plan", "--format", "json", trace]).stdout)["changes"]
    first = next((change for change in found if change["change"].startswith("del:")), None)
    falls, told = peaks[0] - peaks[1], [first[key] for key in ("change", "where", "how", "saves")] if first else [""] * 4
    return [name, *told, falls, "yes" if told[-1] == falls else "no" if first else "no advice"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-k", default="", metavar="PART", help="only the trainers whose names have it")
    parser.add_argument("--save", action="store_true", help="write the rows into evaluation/results/late.csv")
    arguments = parser.parse_args()
    harness.need_torch()
    names = re.findall(r"^def (\w+)\(\):$", PROGRAM.read_text(), re.M)
    names = [name for name in names if arguments.k in name]
    with tempfile.TemporaryDirectory() as folder, harness.Forks(PROGRAM) as recorded, \
            harness.Forks(PROGRAM, before=[harness.MEMTAP, "simulate", "--gpu", harness.GPU, "--"]) as plain:
        rows = []
        for name in names:
            rows.append(compare(name, recorded, plain, folder))
            print(*rows[-1], sep=", ", flush=True)
    if arguments.save:
        results.save("late", COLUMNS, rows, harness.MEMTAP, harness.PYTHON)
    sys.exit(any(row[-1] == "no" for row in rows))


main()
