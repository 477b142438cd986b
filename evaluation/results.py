# SPDX-License-Identifier: Apache-2.0
"""Results of campaigns: evaluation/results/NAME.csv, a row each, with the versions of memtap and PyTorch and the date."""
import csv
import datetime
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "results"


def save(name, columns, rows, memtap, python, key=1):
    """Replaces the rows whose first `key` columns are those of a new one."""
    path = FOLDER / f"{name}.csv"
    versions = [subprocess.run([memtap, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1],
                subprocess.run([python, "-c", "from importlib.metadata import version; print(version('torch'))"],
                               capture_output=True, text=True, check=False).stdout.strip(),
                str(datetime.date.today())]
    head = [*columns, "memtap", "torch", "date"]
    new = [[*map(str, row), *versions] for row in rows]
    old = []
    if path.exists():
        with path.open(newline="") as file:
            found, *old = csv.reader(file)
            if found != head:
                raise SystemExit(f"{path}: its columns are {found}, not {head}")
    again = [row[:key] for row in new]
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *(row for row in old if row[:key] not in again), *new])
    print(f"{path}: {len(new)} rows are new")
