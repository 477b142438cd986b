# SPDX-License-Identifier: Apache-2.0
"""The outputs that questions.py reads: each is created once, however often it is read."""

import base64
import collections
import csv
import functools
import io
import json
import os
import pathlib
import re
import subprocess
import sys

import arrow
import memtap
import memtap.mcp as mcp
from checks import until
from memtap.report import size_text

LABELS = r"parameters|buffers|gradients|optimizer state|activations|inputs|temporaries|workspace|communication|other|kv cache|weight copies|persistent"
JOB = {"training": 1, "keeping": 5, "layers": 1, "mixed": 9, "idle": 1}  # what its ranks recorded: for how many each stands in "kinds"
JOBS = "job", "kinds"
UNKNOWN = "unknown"


class Absent(Exception):
    """This machine does not have an output."""


class Shown(str):
    """A size as a text has it, rounded."""

    @classmethod
    def of(cls, change):
        return cls(("+" if change > 0 else "-" if change < 0 else "") + size_text(abs(change)))

    def is_of(self, size):
        return self == size_text(size) or self == Shown.of(size)


def is_equal(one, other):
    """Equal, where a number may be next to its text."""
    if isinstance(one, Shown) or isinstance(other, Shown):
        return one == other or (isinstance(other, int) and one.is_of(other)) or (isinstance(one, int) and other.is_of(one))
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(is_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_equal(one[key], other[key]) for key in one)
    return type(one) is type(other) and one == other


def difference(one, other):
    """What two answers do not share, in words."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [key for key in {**one, **other} if key not in one or key not in other or not is_equal(one[key], other[key])]
        return "; ".join(f"{key}: {one.get(key)} and {other.get(key)}" for key in keys[:3])
    return f"{str(one)[:200]} and {str(other)[:200]}"


def first(pattern, text):
    found = re.search(pattern, text, re.S if "[^" in pattern else 0)
    assert found, f"{pattern} is not in {text[:400]}"
    return found[1]


def after(name, unknown):
    return "" if name == unknown else name


def sums(pairs):
    result = collections.defaultdict(int)
    for key, size in pairs:
        result[key] += size
    return dict(result)


def most(pairs):
    result = {}
    for key, size in pairs:
        result[key] = max(result.get(key, 0), size)
    return result


def leaf(line):
    """A line of an object as reports have it."""
    return line_of(line) if line else UNKNOWN


def line_of(row):
    function, file = row["function"] or "?", row["file"] or "?"
    if function == "?" and file == "?":
        return UNKNOWN
    number = int(row["line"] or 0)
    if function.startswith(os.path.basename(file)):
        return os.path.basename(file)  # native code without symbols: an address means nothing in another build
    return f"{os.path.basename(file)}{f':{number}' if number else ''} {function}"


def table_rows(text, title):
    """(category, place, size) of a table of lines."""
    rows = text.split(title + "\n")[1].split("\n\n")[0]
    return [(category.replace(" ", "_"), place, Shown(size))
            for size, category, place in re.findall(rf"^ +(\S+ \w+) +[\d,]+ +[~?]?({LABELS}) +(\S.*)$", rows, re.M)]


def least_sure(rows):
    """(category, place, operator) -> how sure its least certain block's category is; "other" claims nothing."""
    result = {}
    for row in rows:
        if row.get("name"):
            continue
        key = row["category"], line_of(row), row["operator"] or ""
        certainty = "certain" if row["category"] == "other" else row["certainty"]
        result[key] = max(result.get(key, certainty), certainty, key=("certain", "likely", "guess").index)
    return result


def once(make):
    """Keep a method's result: an output is read often."""

    @functools.wraps(make)
    def kept(self, *arguments, **more):
        key = make.__name__, arguments, tuple(more.items())
        if key not in self.made:
            self.made[key] = make(self, *arguments, **more)
        return self.made[key]

    return kept


class Outputs:
    """In a folder with the traces of make-traces."""

    least_sure = staticmethod(least_sure)

    def __init__(self, command, make_ranks, to_fit, ask_page):
        self.command, self.to_fit, self.ask_page, self.made = command, to_fit, ask_page, {}
        lines = []
        for job in JOBS:
            pathlib.Path(job).mkdir()
            for rank, (of, alike) in enumerate(JOB.items()):
                infos = f"rank={rank}", f"world_size={len(JOB)}", f"host=node{rank}", f"command=python {job}.py"
                alike = [f"env.CUDASIM_STANDS_FOR={alike}"] if job == "kinds" else []
                lines.append("\t".join([f"{of}.mtap", f"{job}/{rank}.mtap", *infos, *alike]))
        subprocess.run([make_ranks], input="\n".join(lines) + "\n", text=True, check=True)

    @once
    def run(self, *arguments, codes=(0,), **more):
        done = subprocess.run([self.command, *arguments], capture_output=True, text=True, env={**os.environ, **more})
        assert done.returncode in codes, f"{arguments}: {done.returncode} {done.stderr}"
        return done

    @once
    def json(self, *arguments, codes=(0,)):
        return json.loads(self.run(*arguments, codes=codes).stdout)

    def path(self, name):
        return name if name.endswith(".mtap") else f"nights/{name}.mtap" if name.isdigit() else f"{name}.mtap"

    def text(self, command, name, *more):
        return self.run(command, self.path(name), *more).stdout

    # --- one trace

    def report(self, name, *more):
        return self.json("report", "-f", "json", *more, self.path(name))

    def device(self, name, *more):
        return self.report(name, *more)["devices"][0]

    def blocks(self, name, at="peak", *more):
        return self.json("blocks", "-f", "json", "--at", at, *more, self.path(name))["devices"][0]

    def stacks(self, name, *more):
        return self.json("stacks", "-f", "json", *more, self.path(name))["devices"][0]

    @once
    def csv(self, name):
        rows = list(csv.DictReader(io.StringIO(self.run("blocks", "-f", "csv", self.path(name)).stdout)))
        return [row for row in rows if row["device"] == "0"]

    @once
    def table(self, name, table, *at):
        rows = arrow.rows(getattr(memtap.open(self.path(name)), table)(*at))
        return [row for row in rows if row.get("device", 0) == 0]

    @once
    def samples(self, *paths):
        lines = [line.rpartition(" ") for line in self.run("metrics", *paths).stdout.splitlines() if not line.startswith("#")]
        return [(name.split("{")[0], dict(re.findall(r'(\w+)="([^"]*)"', name)), float(value)) for name, _, value in lines]

    def metrics(self, name, family, label):
        return {labels[label]: int(value) for one, labels, value in self.samples(self.path(name))
                if one == family and labels.get("device", "0") == "0"}

    def metric(self, name, family):
        return next(iter(self.metrics(name, family, "trace").values()))

    def oom(self, name):
        return self.json("oom", "-f", "json", self.path(name))

    def own_frame(self, stack):
        return next(frame for frame in stack if "site-packages" not in frame["file"])

    @once
    def top(self, name):
        """What memtap top shows of a program that runs, when it shows all that the program has. Its trace is whole afterwards."""
        command = [self.command, "run", "--stacks", "both", "--simulate", "h100", "-o", self.path(name), "--", self.to_fit, "8", "holds"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout.readline() == "held\n"
            screen = ""

            def shows_all():
                nonlocal screen
                screen = subprocess.run([self.command, "top", "--once", self.path(name)], capture_output=True, text=True).stdout
                return re.search(r"^allocated +48\.00 MiB", screen, re.M)

            until(shows_all)
            process.stdin.close()
        assert not process.returncode
        return screen

    # --- two runs

    def diff(self, old, now):
        return self.json("diff", "-f", "json", self.path(old), self.path(now))

    @once
    def flame(self, old, now):
        self.run("diff", "--flame", "flame", self.path(old), self.path(now))
        rows = [line.rsplit(" ", 2)[1:] for line in pathlib.Path("flame").read_text().splitlines()]
        return sum(int(after) - int(before) for before, after in rows)

    @once
    def limits(self, name, *baseline):
        """Each amount that a budget can limit, by its name."""
        of = {"limits": ("peak", "reserved", "end"), "category": [label.replace(" ", "_") for label in LABELS.split("|")],
              "phase": ("outside", "forward", "backward", "optimizer"), "module": ("layers.2",)}
        text = "".join(f"[{table}]\n" + "".join(f'"{name}" = "1 B"\n' for name in names) for table, names in of.items())
        pathlib.Path("every.toml").write_text(text)
        against = ("--against", self.path(*baseline)) if baseline else ()
        found = self.json("check", "-f", "json", self.path(name), "--budget", "every.toml", *against, codes=(0, 1))
        return {one["limit"]: one for one in found["limits"] if one["known"]}

    def check(self, old, now, form):
        return self.run("check", "-f", form, self.path(now), "--against", self.path(old), codes=(0, 1))

    # --- ranks

    @staticmethod
    def ranks(job):
        return [f"{job}/{rank}.mtap" for rank in range(len(JOB))]

    def job(self, name):
        return self.json("report", "-f", "json", *self.ranks(name))

    def job_text(self, name):
        return self.run("report", *self.ranks(name)).stdout

    @once
    def job_table(self, name):
        return arrow.rows(memtap.open(self.ranks(name)).ranks())

    def job_diff(self, name):
        return self.json("diff", "-f", "json", name, name)

    def job_metrics(self, name):
        return {int(pathlib.Path(labels["trace"]).stem): int(value) for one, labels, value in self.samples(*self.ranks(name))
                if one == "memtap_peak_allocated_bytes"}

    @once
    def fleet_output(self, form, name):
        python = os.environ.get("MEMTAP_TEST_PYTHON", sys.executable)
        if subprocess.run([python, "-c", "import duckdb, pyarrow"], capture_output=True).returncode:
            raise Absent
        path = f"{os.path.dirname(python)}:{os.environ['PATH']}"
        return self.run("fleet", "--format", form, name, PATH=path).stdout

    def fleet(self, name):
        return json.loads(self.fleet_output("json", name))

    def fleet_text(self, name):
        return " ".join(self.fleet_output("text", name).split())

    # --- a history

    @once
    def history(self, name):
        """The number of a run."""
        paths = self.ranks(name) if name in JOBS else [self.path(name)]
        said = self.run("history", "add", "--db", "runs.db", "--commit", name, "--branch", "", *paths).stdout
        return first(r"run (\d+)", said)

    def shown(self, name):
        return self.json("history", "show", "--db", "runs.db", "-f", "json", self.history(name))

    def shown_text(self, name):
        return self.run("history", "show", "--db", "runs.db", self.history(name)).stdout

    @once
    def listed(self, name):
        number = int(self.history(name))
        said = self.run.__wrapped__(self, "history", "list", "--db", "runs.db", "-f", "json")  # runs come to it
        return next(run for run in json.loads(said.stdout)["runs"] if run["run"] == number)

    @once
    def nights_db(self):
        self.run("history", "add", "--db", "nights.db", "--commit", "", "--branch", "", *(f"nights/{i:02}.mtap" for i in range(1, 11)))
        return "--db", "nights.db"

    def nights(self):
        return self.json("history", "list", "-f", "json", *self.nights_db())

    def trend(self):
        return self.json("history", "trend", "-f", "json", *self.nights_db())

    def trend_text(self):
        return self.run("history", "trend", *self.nights_db()).stdout

    @once
    def nightly(self):
        """Two nights of a program, the second of 50 MiB more: what memtap says of it, its document, and the traces."""
        night = ["nightly", "--quiet", "--simulate", "t4", "--format", "json", "--folder", "nightly", "--", self.to_fit]
        self.run(*night, "100")
        done = self.run(*night, "150", codes=(1,))
        old, now = (str(next(pathlib.Path("nightly", kind).rglob("*.mtap"))) for kind in ("good", "bad"))
        return done.stderr, json.loads(done.stdout), old, now

    def nightly_limit(self):
        return next(one for one in self.nightly()[1]["limits"] if one["limit"] == "peak")

    def nightly_device(self):
        old, now = self.nightly()[2:]
        return self.diff(old, now)["devices"][0]

    def nightly_trend(self):
        self.nightly()
        return self.json("history", "trend", "-f", "json", "--db", "nightly/memory.db")["series"][0]["bytes"]

    def trend_of_one(self, name):
        """The bars of a history of one run."""
        self.run("history", "add", "--db", f"only-{name}.db", "--commit", "", "--branch", "", self.path(name))
        return self.run("history", "trend", "--db", f"only-{name}.db").stdout

    # --- the package's other ways

    def plan(self, name):
        return self.json("plan", "-f", "json", self.path(name))["recorded"]

    def assistant(self, name):
        os.environ["MEMTAP"] = self.command
        return mcp.report(self.path(name))["devices"][0]

    @once
    def datasets(self):
        """The tables of a dataset of all traces that are read."""
        python = os.environ.get("MEMTAP_TEST_PYTHON", sys.executable)
        if subprocess.run([python, "-c", "import pyarrow"], capture_output=True).returncode:
            raise Absent
        path = f"{os.path.dirname(python)}:{os.environ['PATH']}"
        pathlib.Path("to-export").mkdir()
        for trace in pathlib.Path().glob("*.mtap"):
            (pathlib.Path("to-export") / trace.name).symlink_to(trace.resolve())
        self.run("export", "-f", "parquet", "-o", "dataset", "to-export", PATH=path)
        script = """
import json, pyarrow.dataset as ds
print(json.dumps({table: ds.dataset(f"dataset/{table}", format="parquet").to_table().to_pylist() for table in ("runs", "sites", "blocks")}))"""
        return json.loads(subprocess.run([python, "-c", script], capture_output=True, text=True, check=True).stdout)

    def parquet(self, name, table):
        return [row for row in self.datasets()[table] if row["device"] == 0 and pathlib.PurePath(row["trace"]).name == f"{name}.mtap"]

    # --- the page

    def page(self, name):
        return self.ask_page()[self.path(name)]

    @once
    def carried(self, name):
        """The path of the trace that memtap view's page carries."""
        self.run("view", "-o", "page.html", self.path(name))
        pathlib.Path("carried").mkdir(exist_ok=True)
        path = pathlib.Path("carried", self.path(name))
        path.write_bytes(base64.b64decode(first(r' data-trace="[^"]*">([^<]+)<', pathlib.Path("page.html").read_text())))
        return str(path)

    def view(self, name):
        return self.ask_page()[self.carried(name)]

    def page_diff(self, old, now):
        return self.ask_page()[f"{self.path(old)} {self.path(now)}"]["report"]

    def page_diff_text(self, old, now):
        return self.ask_page()[f"{self.path(old)} {self.path(now)}"]["text"]

    def job_page(self, name):
        return self.ask_page()[name]


def ask(questions, outputs):
    """Ask all questions. Return a line for each answer that is another one than the first."""
    faults, asked = [], 0
    for family, question, traces, askers in questions:
        for trace in traces:
            answers = {}
            for name, asker in askers.items():
                try:
                    answers[name] = asker(outputs, trace)
                    asked += 1
                except Absent:
                    pass
                except Exception as problem:
                    faults.append(f"{family}: {question} ({trace}): {name} does not say: {type(problem).__name__}: {str(problem)[:300]}")
            if len(answers) < 2:
                faults.append(f"{family}: {question} ({trace}): nobody to compare with")
                continue
            (name, answer), *others = answers.items()
            faults += [f"{family}: {question} ({trace}): {name} and {other} say {difference(answer, another)}"
                       for other, another in others if not is_equal(answer, another)]
    return faults, asked
