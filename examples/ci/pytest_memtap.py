# SPDX-License-Identifier: Apache-2.0
"""pytest --memtap: records each test that is marked with `memtap` in a process of its own, on this
machine's GPU or a simulated one (--memtap-simulate h100), and holds its memory to limits:

    @pytest.mark.memtap(peak="2 GiB", category={"activations": "1 GiB"})
    def test_training_step(): ...

README.md beside this file explains the options."""
import fnmatch
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

WHOLE = ("peak", "reserved", "growth", "fragmentation", "end")
TABLES = ("category", "phase", "module", "site")
MARKER = ("memtap(peak=..., reserved=..., growth=..., fragmentation=..., end=..., category={}, phase={}, "
          "module={}, site={}, budget=FILE): record this test's GPU memory, and hold it to limits")
REPORTS = "PYTEST_MEMTAP_REPORTS"  # of the process that runs one test: the file for its reports
LINES = 14  # of memtap's report, in that of a test that failed


def pytest_addoption(parser):
    group = parser.getgroup("memtap", "GPU memory")
    group.addoption("--memtap", action="store_true",
                    help="record tests with the marker memtap, each in a process of its own")
    group.addoption("--memtap-simulate", metavar="GPU",
                    help="on a simulated GPU, such as h100, instead of this machine's")
    group.addoption("--memtap-dir", metavar="DIR", default="memtap-traces",
                    help="where the traces are kept (default: %(default)s)")
    group.addoption("--memtap-against", metavar="DIR",
                    help="compare each test with its traces of an earlier run, in that run's --memtap-dir")
    group.addoption("--memtap-command", metavar="PATH", default=os.environ.get("MEMTAP", "memtap"),
                    help="the command memtap (default: $MEMTAP, or memtap)")
    parser.addini("memtap_peak", "the peak of each recorded test that has no limit of its own for it")
    parser.addini("memtap_paths", "patterns of files whose tests are recorded without a marker", "args")
    parser.addini("memtap_markers", "markers with which tests are recorded as well, such as gpu", "args")
    parser.addini("memtap_exclude", "patterns of tests (by node id) that are never recorded", "args")


def pytest_configure(config):
    config.addinivalue_line("markers", MARKER)
    if not config.getoption("memtap") or os.environ.get(REPORTS):
        return
    if not shutil.which(config.getoption("memtap_command")):
        raise pytest.UsageError(f"--memtap: there is no command {config.getoption('memtap_command')}; "
                                "name it with --memtap-command, or in $MEMTAP")
    if config.getoption("memtap_against") and (Path(config.getoption("memtap_against")).resolve() ==
                                               Path(config.getoption("memtap_dir")).resolve()):
        raise pytest.UsageError("--memtap-against and --memtap-dir are one folder: the new traces would "
                                "take the place of those to compare with")
    config.pluginmanager.register(Recorder(config), "memtap-recorder")


# --- the process of one test -------------------------------------------------------------------------


def pytest_runtest_logreport(report):
    """Hands the report over to the pytest that started this one."""
    path = os.environ.get(REPORTS)
    if path:
        data = _child_config.hook.pytest_report_to_serializable(config=_child_config, report=report)
        with open(path, "a", encoding="utf-8") as out:
            out.write(json.dumps(data, default=str) + "\n")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    global _child_config
    _child_config = session.config


_child_config = None


# --- the pytest of all tests -------------------------------------------------------------------------


class Recorder:
    def __init__(self, config):
        self.config = config
        self.dir = Path(config.invocation_params.dir, config.getoption("memtap_dir"))
        self.lines = []  # for the end of the session

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item):
        if not self.is_recorded(item):
            return None
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self.run(item):
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def is_recorded(self, item):
        ini = self.config.getini
        if any(fnmatch.fnmatch(item.nodeid, pattern) for pattern in ini("memtap_exclude")):
            return False
        if self.config.getoption("usepdb", False):
            return False  # a debugger needs the terminal
        path = item.nodeid.split("::")[0]
        return bool(item.get_closest_marker("memtap") or
                    any(item.get_closest_marker(name) for name in ini("memtap_markers")) or
                    any(fnmatch.fnmatch(path, pattern) for pattern in ini("memtap_paths")))

    def run(self, item):
        """The reports of a test, after it ran in a process of its own."""
        name = re.sub(r"[^\w.-]+", "-", item.nodeid.replace("::", "-")).strip("-.")[:150]
        folder = self.dir / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with tempfile.TemporaryDirectory(prefix="pytest-memtap-") as work:
            path = Path(work, "reports.jsonl")
            done = subprocess.run(self.command(item, folder, work), check=False, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, errors="replace",
                                  stderr=subprocess.STDOUT, cwd=self.config.invocation_params.dir,
                                  env=self.environment(path))
            lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        reports = [self.config.hook.pytest_report_from_serializable(
            config=self.config, data=json.loads(line)) for line in lines]
        for report in reports:
            if isinstance(report.longrepr, list):
                report.longrepr = tuple(report.longrepr)  # of a skip; JSON has lists only
        if not any(report.when == "teardown" for report in reports):
            reports.append(self.broken_off(item, done, reports))
        self.add_memory(item, folder, name, reports)
        return reports

    def command(self, item, folder, work):
        """memtap run ... python -m pytest NODE, with this pytest's own options: a later one wins."""
        config = self.config
        simulate = config.getoption("memtap_simulate")
        node = str(Path(config.rootpath, item.nodeid.split("::")[0]))
        node += item.nodeid[len(item.nodeid.split("::")[0]):]
        operands = set(config.option.file_or_dir)
        options = [arg for arg in map(str, config.invocation_params.args) if arg not in operands]
        last = ["-k", "", "-m", "", "-o", f"cache_dir={work}/cache", "--rootdir", str(config.rootpath)]
        if config.inipath:
            last += ["-c", str(config.inipath)]
        if config.pluginmanager.hasplugin("junitxml"):
            last.append("--junitxml=")
        if config.pluginmanager.hasplugin("xdist") or os.environ.get("PYTEST_XDIST_WORKER"):
            last += ["-n", "0"]
        return [config.getoption("memtap_command"), "run",
                *(["--simulate", simulate] if simulate else []), "-o", str(folder / "%p.mtap"), "--",
                sys.executable, "-m", "pytest", *options, *last, node]

    def environment(self, path):
        mine = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
        return {**mine, REPORTS: str(path)}

    def broken_off(self, item, done, reports):
        """For a process that ended before its test did, or that never came to it."""
        code = done.returncode
        if code > 128 or code < 0:
            number = code - 128 if code > 128 else -code
            known = {member.value: member.name for member in signal.Signals}
            why = f"the test's process was ended by {known.get(number, number)}"
        else:
            why = f"the test's process ended with code {code} before the test did"
        when = "call" if any(report.when == "setup" for report in reports) else "setup"
        return pytest.TestReport(item.nodeid, item.location, {}, "failed",
                                 f"memtap: {why}\n{done.stdout[-4000:]}", when)

    # --- memory ---

    def add_memory(self, item, folder, name, reports):
        """Lets a test fail that broke a limit, and shows the memory of one that failed."""
        traces = sorted(folder.glob("*.mtap"))
        call = next((report for report in reports if report.when == "call"), None)
        if not traces:
            if call and call.passed and self.limits(item):
                self.lines.append(f"{item.nodeid}: no GPU memory was used, so no limit was checked")
            return
        if call and call.passed:
            call.outcome, call.longrepr = self.check(item, name, traces)
        failed = next((report for report in reports if report.failed), None)
        if failed:
            failed.sections.append((f"GPU memory ({folder})", self.summary(traces)))

    def limits(self, item):
        """Of all markers, the nearest to the test counts, then the session's own peak."""
        limits = {}
        for marker in item.iter_markers("memtap"):
            limits = {**marker.kwargs, **limits}
        if self.config.getini("memtap_peak") and "budget" not in limits:
            limits.setdefault("peak", self.config.getini("memtap_peak"))
        return limits

    def check(self, item, name, traces):
        """('passed', None), or ('failed', why)."""
        limits, against = self.limits(item), self.baseline(item, name)
        unknown = set(limits) - {*WHOLE, *TABLES, "budget"}
        if unknown or ("budget" in limits and len(limits) > 1):
            return "failed", f"memtap: the marker has {', '.join(sorted(unknown)) or 'budget and limits'}; it takes " + MARKER
        if not limits and not against:
            return "passed", None
        with tempfile.TemporaryDirectory(prefix="pytest-memtap-") as work:
            budget = []
            if "budget" in limits:
                budget = ["--budget", str(Path(self.config.rootpath, limits["budget"]))]
            elif limits:
                budget = ["--budget", f"{work}/marker.toml"]
                Path(work, "marker.toml").write_text(toml(limits), encoding="utf-8")
            done = self.memtap("check", *traces, *budget, *(["--against", *against] if against else []))
        if done.returncode == 0:
            unknown = re.search(r"growth: not known.*", done.stdout)
            if unknown and "growth" in limits:
                self.lines.append(f"{item.nodeid}: {unknown[0]}")
            return "passed", None
        what = "is over its limits of GPU memory" if done.returncode == 1 else "could not be checked"
        return "failed", f"memtap: {item.nodeid} {what}\n\n{done.stdout}{done.stderr}".rstrip()

    def baseline(self, item, name):
        directory = self.config.getoption("memtap_against")
        if not directory:
            return []
        found = sorted(Path(self.config.invocation_params.dir, directory, name).glob("*.mtap"))
        if not found:
            self.lines.append(f"{item.nodeid}: nothing of it in {directory}, so it was not compared")
        return found

    def memtap(self, *arguments):
        return subprocess.run([self.config.getoption("memtap_command"), *map(str, arguments)],
                              capture_output=True, text=True, errors="replace", check=False,
                              stdin=subprocess.DEVNULL)

    def summary(self, traces):
        """The essential lines of the report on the largest trace."""
        largest = max(traces, key=lambda trace: trace.stat().st_size)
        done = self.memtap("report", largest)
        begin, _, rest = done.stdout.partition("\nPeak of ")
        lines = ["Peak of " + line if not number else line
                 for number, line in enumerate(rest.splitlines())] if rest else [begin, done.stderr]
        return "\n".join([*lines[:LINES], f"memtap report {largest}"])

    def pytest_terminal_summary(self, terminalreporter):
        if self.lines:
            terminalreporter.section("GPU memory")
            for line in self.lines:
                terminalreporter.line(line)


def toml(limits):
    """A budget. Texts are written alike in JSON and TOML."""
    lines = ["[limits]"]
    lines += [f"{name} = {json.dumps(limits[name])}" for name in WHOLE if name in limits]
    for table in TABLES:
        if table in limits:
            lines.append(f"[{table}]")
            lines += [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in limits[table].items()]
    return "\n".join(lines) + "\n"
