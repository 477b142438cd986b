# SPDX-License-Identifier: Apache-2.0
"""late.py [-k PART] [--save]: does the peak fall by what `memtap plan` says when its first advice to `del` is followed? Records the loops of
trainers.py and libraries.py with --uses, and runs each with the variable deleted. Takes minutes; MEMTAP and MEMTAP_TEST_PYTHON as in tests/torch;
trainers whose library that Python lacks are left out, and named. --save writes evaluation/results/late.csv."""
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

PROGRAMS = [HERE / name for name in ("trainers.py", "libraries.py")]
COLUMNS = ["trainer", "advice", "where", "how", "says", "falls", "agrees"]


def compare(program, name, recorded, plain, folder):
    trace, peaks = Path(folder) / f"{program.stem}-{name}.mtap", []
    for forks, arguments in ((recorded, []), (plain, ["follow"])):
        code, output = forks.run(trace, program, name, *arguments, env={"MEMTAP_USES": "1"}, cwd=folder)
        found = re.search(r"^peak (\d+)", output, re.M)
        if code and "ModuleNotFoundError" in output:
            return print(name, output.splitlines()[-1], sep=": ")
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
    listed = [(program, re.search(r"^TRAINERS = .*? in\s*\((.*?)\)", program.read_text(), re.M | re.S)[1]) for program in PROGRAMS]
    names = [(program, name) for program, text in listed for name in re.findall(r"\w+", text) if arguments.k in name]
    with tempfile.TemporaryDirectory() as folder, harness.Forks() as recorded, \
            harness.Forks(before=[harness.MEMTAP, "simulate", "--gpu", harness.GPU, "--"]) as plain:
        rows = []
        for program, name in names:
            row = compare(program, name, recorded, plain, folder)
            if row:
                rows.append(row)
                print(*row, sep=", ", flush=True)
    if arguments.save:
        results.save("late", COLUMNS, rows, harness.MEMTAP, harness.PYTHON)
    sys.exit(any(row[-1] == "no" for row in rows))


main()
