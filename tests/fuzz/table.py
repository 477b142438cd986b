# SPDX-License-Identifier: Apache-2.0
"""table.py MEMTAP EXECUTED COVERAGE: adds the executions of EXECUTED ("harness,executions,seconds" a line, which are then forgotten) to
evaluation/results/fuzz.csv, and writes what coverage.py told into evaluation/results/fuzz-coverage.csv."""
import collections
import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "evaluation"))
import results

HARNESSES, FOLDERS = ["harness", "executions", "a_second", "found"], ["folder", "lines", "branches"]


def main(memtap, executed, coverage):
    runs = collections.defaultdict(collections.Counter)
    for name, executions, seconds in csv.reader(Path(executed).read_text().splitlines()):
        runs[name].update(executions=int(executions), seconds=int(seconds))
    with (results.FOLDER / "fuzz.csv").open(newline="") as file:
        before = {row["harness"]: row for row in csv.DictReader(file)}
    rows = [[name, int(before.get(name, {}).get("executions", 0)) + run["executions"], round(run["executions"] / max(1, run["seconds"])),
             before.get(name, {}).get("found", "")] for name, run in runs.items()]
    results.save("fuzz", HARNESSES, rows, memtap, sys.executable)
    reached = [line.split() for line in Path(coverage).read_text().splitlines() if "%" in line]
    results.save("fuzz-coverage", FOLDERS, [[words[0], words[1], words[5]] for words in reached], memtap, sys.executable)
    Path(executed).write_text("")


main(*sys.argv[1:])
