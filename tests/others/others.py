# SPDX-License-Identifier: Apache-2.0
"""Runs other people's tests without memtap's library and with it, and compares the results test by test.

A suite's script gives its units, which are run in a process each, and reads their results. A unit whose results differ is
run again, in turns: a test that is not the same each time without the library either is flaky; else memtap is to blame,
and the exit code is 1. Two ways:

    plain      a program that does not use CUDA
    live       each process has a simulated device, a context, memory and a thread that allocates (live.c)
    simulated  the program uses the simulated device itself"""
import argparse
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "evaluation"))
from results import save  # noqa: E402

COLUMNS = ["suite", "version", "way", "units", "tests", "differ", "flaky"]
WAYS = ["plain", "live", "simulated"]


class Suite:
    """What a script says of its project; NAME and the three functions."""
    name = ""
    limit_s = 300  # for a unit
    ways = ["plain", "live"]
    environment = {}

    def add_arguments(self, parser):
        """Options of its own."""

    def prepare(self, args):
        """Fetches what is needed, and returns a line with versions."""
        raise NotImplementedError

    def units(self, args):
        """Names of what is run in a process each."""
        raise NotImplementedError

    def command(self, args, unit, folder):
        """The command that runs it in the working directory `folder`."""
        raise NotImplementedError

    def results(self, unit, folder, output):
        """Test -> outcome, from what it left."""
        return read_junit(folder / "results.xml")


class PytestSuite(Suite):
    """Of a package whose tests are next to it, which pytest runs: a unit is a file of them."""
    package = ""
    options = []

    def add_arguments(self, parser):
        parser.add_argument("--python", required=True, help="one that has the package, its tests' needs and pytest")

    def prepare(self, args):
        code = (f"import platform, {self.package} as package; print(package.__file__); "
                f"print('{self.package}', package.__version__, 'on Python', platform.python_version())")
        done = subprocess.run([args.python, "-c", code], capture_output=True, text=True, check=True, cwd=args.work)
        place, versions = done.stdout.splitlines()
        self.folder = Path(place).parent
        return versions

    def units(self, args):
        return [str(path.relative_to(self.folder)) for path in sorted(self.folder.rglob("test_*.py"))]

    def command(self, args, unit, folder):
        return [args.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *self.options, "--junit-xml", folder / "results.xml",
                self.folder / unit]


def read_junit(path):
    """Test -> outcome of a JUnit file; equal names get numbers."""
    try:
        cases = ElementTree.parse(path).iter("testcase")
    except (OSError, ElementTree.ParseError):
        return {}
    seen, outcomes = collections.Counter(), {}
    for case in cases:
        name = f"{case.get('classname', '')}.{case.get('name')}"
        seen[name] += 1
        outcome = next((child.tag for child in case if child.tag in ("failure", "error", "skipped")), "passed")
        outcomes[name if seen[name] == 1 else f"{name} ({seen[name]})"] = outcome
    return outcomes


class Runner:
    def __init__(self, suite, args, folder):
        self.suite, self.args, self.folder = suite, args, folder
        self.shim = subprocess.run([args.memtap, "lib"], capture_output=True, text=True, check=True).stdout.strip()
        self.helper = folder / "live.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.helper,
                        Path(__file__).with_name("live.c"), "-pthread"], check=True)
        self.n_traces = self.n_unreadable = 0

    def before(self, way, with_shim):
        """What stands before the unit's command."""
        preload = [str(self.shim)] if with_shim else []
        helper = [str(self.helper)] if way == "live" else []
        if way == "plain":
            return ["env", "LD_PRELOAD=" + ":".join(preload)] if preload else []
        # The simulator's libraries are preloaded too, and its command must not have the rest.
        return [self.args.memtap, "simulate", "--gpu", "h100", "--", "sh", "-c",
                f'LD_PRELOAD={":".join([*preload, "$LD_PRELOAD", *helper])} exec "$@"', "sh"]

    def run(self, unit, way, with_shim):
        """Test -> outcome of one run, and under "" how the process ended."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        traces = Path(tempfile.mkdtemp(dir=self.folder))
        environment = {**os.environ, **self.suite.environment, "MEMTAP_OUTPUT": f"{traces}/%e-%p.mtap", "MEMTAP_QUIET": "1"}
        command = [str(word) for word in [*self.before(way, with_shim), *self.suite.command(self.args, unit, folder)]]
        with open(folder / "output", "w+b") as output:
            process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=output, start_new_session=True)
            try:
                ends = str(process.wait(self.suite.limit_s * self.args.patience))
            except subprocess.TimeoutExpired:
                ends = "too long"
            try:
                os.killpg(process.pid, signal.SIGKILL)  # what it left behind
            except ProcessLookupError:
                pass
            process.wait()
            output.seek(0)
            text = output.read().decode(errors="replace")
        results = {**self.suite.results(unit, folder, text), "": f"exit code {ends}"}
        self.keep(unit, way, with_shim, text)
        self.look_at_traces(traces, way, with_shim)
        shutil.rmtree(folder, ignore_errors=True)
        return results

    def keep(self, unit, way, with_shim, text):
        name = re.sub(r"\W+", "-", unit)
        log = self.folder / "logs" / f"{name}.{way}.{'with' if with_shim else 'without'}.log"
        log.parent.mkdir(exist_ok=True)
        with open(log, "a", encoding="utf-8") as file:
            file.write(text + "\n" + "=" * 80 + "\n")

    def look_at_traces(self, traces, way, with_shim):
        """Programs without CUDA leave none; each trace is readable."""
        for trace in traces.glob("*.mtap"):
            self.n_traces += 1
            done = subprocess.run([self.args.memtap, "info", trace], capture_output=True, text=True, errors="replace")
            if done.returncode or way == "plain" or not with_shim:
                self.n_unreadable += 1
                print(f"  UNEXPECTED TRACE {trace.name}: {done.stderr.strip()}", flush=True)
        shutil.rmtree(traces, ignore_errors=True)

    def compare(self, unit, way):
        """The unit's results without, and test -> (outcomes without, outcomes with, verdict) where there is a difference."""
        with ThreadPoolExecutor() as both:  # most tests wait more than they work
            first = [both.submit(self.run, unit, way, with_shim) for with_shim in (False, True)]
        without, with_shim = ([run.result()] for run in first)
        if without[0] == with_shim[0]:
            return without[0], {}
        for _ in range(self.args.repeat):
            with_shim.append(self.run(unit, way, True))
            without.append(self.run(unit, way, False))
        differences = {}
        for test in sorted({name for results in without + with_shim for name in results}):
            a, b = ([results.get(test, "missing") for results in runs] for runs in (without, with_shim))
            if len({*a, *b}) > 1:
                differences[test] = (a, b, "flaky" if set(a) & set(b) else "HARM")
        return without[0], differences


MOST_OUTCOMES = 8  # where tests pass or fail; what a suite compares by values has more


def tally(results):
    return told(collections.Counter(outcome for test, outcome in results.items() if test)) or results[""]


def told(counts):
    if len(counts) > MOST_OUTCOMES:
        return f"{counts.total()} with outcomes of their own"
    return ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items()))


def short(outcomes):
    return "/".join(outcome.replace("exit code ", "") for outcome in outcomes)


def main(suite):
    parser = argparse.ArgumentParser(description=f"{suite.name}'s tests without memtap and with it: {__doc__}",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memtap", type=Path, default=ROOT / "build" / "tools" / "memtap")
    parser.add_argument("--way", choices=WAYS, action="append", help="by default " + " and ".join(suite.ways))
    parser.add_argument("--only", metavar="REGEX", help="units whose names it is found in")
    parser.add_argument("--repeat", type=int, default=3, help="runs more, each, where results differ; 3")
    parser.add_argument("--patience", type=float, default=1, help="factor on the time limit of a unit")
    parser.add_argument("--folder", type=Path, help="for logs; by default a temporary one")
    parser.add_argument("--save", action="store_true", help="write a row for each way into evaluation/results/suites.csv, with --only of these units only")
    suite.add_arguments(parser)
    args = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and so would their children
    args.memtap = args.memtap.resolve()
    folder = (args.folder or Path(tempfile.mkdtemp(prefix="memtap-others-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    args.work = folder
    versions = suite.prepare(args)
    units = [unit for unit in suite.units(args) if re.search(args.only or "", unit)]
    print(f"{suite.name}: {versions}; {len(units)} units; logs in {folder}", flush=True)
    runner = Runner(suite, args, folder)
    harm, rows, report = 0, [], []
    for way in args.way or suite.ways:
        total, flaky, harmed, begin = collections.Counter(), 0, 0, time.monotonic()
        for unit in units:
            results, differences = runner.compare(unit, way)
            print(f"{way:5} {unit:40} {tally(results)}", flush=True)
            total.update(outcome for test, outcome in results.items() if test)
            for test, (a, b, verdict) in differences.items():
                print(f"      {verdict:5} {test or 'the process'}: without {short(a)}, with {short(b)}", flush=True)
                flaky += verdict == "flaky"
                harmed += verdict == "HARM"
            report.append({"way": way, "unit": unit, "results": results, "differences": differences})
        print(f"{way}: {total.total()} tests ({told(total)}), {harmed} other results with memtap, "
              f"{flaky} flaky, {time.monotonic() - begin:.0f} s", flush=True)
        harm += harmed
        rows.append([suite.name, versions, way, len(units), total.total(), harmed, flaky])
    print(f"traces: {runner.n_traces}, of them not as they should be: {runner.n_unreadable}")
    (folder / "report.json").write_text(json.dumps(report, indent=1))
    if args.save:
        save("suites", COLUMNS, rows, args.memtap, getattr(args, "python", sys.executable), key=3)
    sys.exit(1 if harm or runner.n_unreadable else 0)
