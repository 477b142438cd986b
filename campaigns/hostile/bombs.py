# SPDX-License-Identifier: Apache-2.0
"""bombs.py BUILD [FOLDER]: all commands on all small files that stand for much: the processor's seconds, MiB of memory and of output.

It prints the worst, and everything beyond the budget: 2 s and 256 MiB for each MB of input, at least of one, and one line where
memtap refuses. --bombs NAME,... and --ways WORD take fewer; --file FILE... takes these files instead; --jobs N runs N at a time.
"""
import argparse
import csv
import os
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import foreign
from surfaces import BUDGET, RULES, trace_ways, words_of

SECONDS, MEMORY = 2.0, 256  # for each MB of input
COLUMNS = ["bomb", "way", "seconds", "MiB", "written", "exit", "size", "said"]
PATIENCE = 30  # times the budget: then the run is ended


def limits(seconds):
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return limit


def run(memtap, folder, name, way, number):
    """The row of one command on one file."""
    made = folder / f"made-{number}"
    words = words_of(way, name, made.name)
    size = max(1.0, (folder / name).stat().st_size / 1e6)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen([memtap, *words], cwd=folder, stdout=out, stderr=errors, stdin=subprocess.DEVNULL,
                                 preexec_fn=limits(int(SECONDS * size * PATIENCE)))
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        written = os.fstat(out.fileno()).st_size
        errors.seek(0)
        said = errors.read().decode(errors="replace")
    for path in [made, *folder.glob(f"made-{number}*")]:
        if path.is_dir():
            subprocess.run(["rm", "-r", path], check=True)
        elif path.exists():
            written += path.stat().st_size
            path.unlink()
    return {"bomb": name, "way": way, "seconds": usage.ru_utime + usage.ru_stime, "MiB": usage.ru_maxrss / 1024, "written": written / 2 ** 20,
            "exit": child.returncode, "size": size, "said": said.strip()}


def faults_of(row):
    over = []
    if row["seconds"] > SECONDS * row["size"]:
        over.append("time")
    if row["MiB"] > MEMORY * row["size"]:
        over.append("memory")
    if row["exit"] not in (0, 1, 2) or (row["exit"] == 2 and not row["said"].startswith("memtap: ")):
        over.append("ends badly")
    return over


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("build", type=Path)
    options.add_argument("folder", type=Path, nargs="?", default=Path("build/hostile"))
    options.add_argument("--bombs", default="")
    options.add_argument("--ways", default="")
    options.add_argument("--file", type=Path, nargs="*", default=[])
    options.add_argument("--jobs", type=int, default=1)
    options = options.parse_args()
    memtap, folder = options.build.resolve() / "tools/memtap", options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "budget.txt").write_text(BUDGET)
    (folder / "rules.txt").write_text(RULES)
    imports = []
    if options.file:
        traces = [str(path.resolve()) for path in options.file]
    else:
        subprocess.run([options.build.resolve() / "tests/cli/make-bombs"], cwd=folder, check=True)
        traces = sorted(path.name for path in folder.glob("*.mtap"))
        imports = foreign.make(folder)
    wanted = options.bombs.split(",") if options.bombs else []
    runs = [(name, "import -o {o} {}") for name in imports] + [(name, way) for name in traces for way in trace_ways()]
    runs = [(name, way) for name, way in runs if options.ways in way and (not wanted or any(word in name for word in wanted))]
    rows = []
    with ThreadPoolExecutor(options.jobs) as pool, (folder / "bombs.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        for row in pool.map(lambda numbered: run(memtap, folder, *numbered[1], numbered[0]), enumerate(runs)):
            rows.append(row)
            table.writerow(row)
            file.flush()
    for what in ("seconds", "MiB"):
        print(f"the most {what}:")
        for row in sorted(rows, key=lambda row: -row[what] / row["size"])[:12]:
            print(f"  {row['seconds']:7.2f} s {row['MiB']:6.0f} MiB {row['written']:6.1f} MiB out  {row['exit']}  {row['bomb']}: {row['way']}")
    wrong = [(row, faults_of(row)) for row in rows if faults_of(row)]
    print(f"{len(rows)} runs, {len(wrong)} beyond the budget")
    for row, over in wrong:
        print(f"  {row['seconds']:7.2f} s {row['MiB']:6.0f} MiB  {row['exit']}  {row['bomb']}: {row['way']}: {', '.join(over)}: {row['said'][-160:]}")
    sys.exit(bool(wrong))


main()
