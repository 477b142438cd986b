# SPDX-License-Identifier: Apache-2.0
"""bombs.py BUILD [FOLDER]: all commands on all small files that stand for much: the processor's seconds, MiB of memory and of output.

It prints the worst, and everything beyond the budget: 2 s and 256 MiB for each MB of input, at least of one a file, and one line
where memtap refuses. What a way takes of an empty file (Python, node, DuckDB) does not count. --bombs NAME,... and --ways WORD take fewer; --file FILE... takes these files instead; --jobs N runs N at a time. --save writes
a row for each command into evaluation/results/hostile.csv.
"""
import argparse
import collections
import os
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import foreign
from surfaces import ASK, BUDGET, NIGHT, RULES, commands_of, trace_ways

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "page"), str(ROOT / "evaluation")]
import fetch  # noqa: E402 (page/fetch.py)
import results  # noqa: E402

SECONDS, MEMORY = 2.0, 256  # for each MB of input
COLUMNS = ["way", "runs", "beyond", "most_seconds", "most_mib"]  # by the way's first word
PATIENCE = 30  # times the budget: then the run is ended


def limits(seconds):
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return limit


class Programs:
    """What a command's first word stands for."""

    def __init__(self, options):
        build = options.build.resolve()
        self.memtap, self.python, self.page = build / "tools/memtap", options.python, ROOT / "tests/page/ask_analyzer.mjs"
        self.environment = {**os.environ, "MEMTAP": str(self.memtap), "PYTHONPATH": str(ROOT / "python"),
                            "MEMTAP_READER": str(build / "exchange/libmemtap-reader.so"),
                            "PATH": f"{Path(self.python).parent}:{os.environ['PATH']}"}
        self.node = [*map(str, fetch.for_tests(ROOT / ".cache/page-tools")), build / "page/work/analyzer.wasm"]

    def command(self, words):
        if words[0] == "python":
            return [self.python, *words[1:]]
        if words[0] == "node":
            node, packages, analyzer = self.node
            return [node, words[1], packages, analyzer, *words[2:]]
        return [self.memtap, *words]


def run(programs, folder, name, way, number):
    """The row of one command on one file. The sum of those that belong together, and the most memory of one of them."""
    made, ranks = folder / f"made-{number}", folder / f"ranks-{number}"
    if "{d}" in way:
        ranks.mkdir()
        for rank in "ab":
            os.link(folder / name, ranks / f"{rank}.mtap")
    # a file that is named twice is read twice
    size = max(1.0, (folder / name).stat().st_size / 1e6) * max(1, way.count("{}"), 2 * way.count("{d}"))
    row = {"bomb": name, "way": way, "seconds": 0.0, "MiB": 0.0, "written": 0.0, "exit": 0, "size": size, "said": ""}
    for words in commands_of(way, name, made.name, ranks.name, programs.page):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            child = subprocess.Popen(programs.command(words), cwd=folder, stdout=out, stderr=errors, stdin=subprocess.DEVNULL,
                                     env=programs.environment, preexec_fn=limits(int(SECONDS * size * PATIENCE)))
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            row["written"] += os.fstat(out.fileno()).st_size / 2 ** 20
            errors.seek(0)
            row["said"] = (row["said"] + "\n" + errors.read().decode(errors="replace").strip()).strip()
        row["seconds"] += usage.ru_utime + usage.ru_stime
        row["MiB"] = max(row["MiB"], usage.ru_maxrss / 1024)
        row["exit"] = child.returncode
        if row["exit"]:
            break
    for path in [made, ranks, *folder.glob(f"made-{number}*")]:
        if path.is_dir():
            subprocess.run(["rm", "-r", path], check=True)
        elif path.exists():
            row["written"] += path.stat().st_size / 2 ** 20
            path.unlink()
    return row


def faults_of(row, base):
    """base: the row of an empty file."""
    over = []
    if row["seconds"] - base["seconds"] > SECONDS * row["size"]:
        over.append("time")
    if row["MiB"] - base["MiB"] > MEMORY * row["size"]:
        over.append("memory")
    if row["exit"] not in (0, 1, 2) or (row["exit"] == 2 and "memtap: " not in row["said"]):
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
    options.add_argument("--python", default=sys.executable, help="one with duckdb, pyarrow and mcp")
    options.add_argument("--save", action="store_true")
    options = options.parse_args()
    if options.save and (options.bombs or options.ways or options.file):
        sys.exit("bombs.py: --save writes whole commands; leave --bombs, --ways and --file away")
    programs, folder = Programs(options), options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in {"budget.txt": BUDGET, "rules.txt": RULES, "ask.py": ASK, "night.sh": NIGHT}.items():
        (folder / file).write_text(text)
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
    (folder / "nothing.mtap").touch()
    bases = {way: run(programs, folder, "nothing.mtap", way, -1 - number) for number, way in enumerate({way for _, way in runs})}
    (folder / "nothing.mtap").unlink()
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda numbered: run(programs, folder, *numbered[1], numbered[0]), enumerate(runs)))
    for what in ("seconds", "MiB"):
        print(f"the most {what}:")
        for row in sorted(rows, key=lambda row: -row[what] / row["size"])[:12]:
            print(f"  {row['seconds']:7.2f} s {row['MiB']:6.0f} MiB {row['written']:6.1f} MiB out  {row['exit']}  {row['bomb']}: {row['way']}")
    wrong = [(row, over) for row in rows if (over := faults_of(row, bases[row["way"]]))]
    print(f"{len(rows)} runs, {len(wrong)} beyond the budget")
    for row, over in wrong:
        print(f"  {row['seconds']:7.2f} s {row['MiB']:6.0f} MiB  {row['exit']}  {row['bomb']}: {row['way']}: {', '.join(over)}: {row['said'][-160:]}")
    if options.save:
        groups = collections.defaultdict(list)
        for row in rows:
            groups[row["way"].split()[0]].append(row)
        beyond = collections.Counter(row["way"].split()[0] for row, _ in wrong)
        results.save("hostile", COLUMNS, [[way, len(some), beyond[way], f"{max(row['seconds'] for row in some):.1f}",
                                           f"{max(row['MiB'] for row in some):.0f}"] for way, some in groups.items()],
                     programs.memtap, options.python)
    sys.exit(bool(wrong))


main()
