# SPDX-License-Identifier: Apache-2.0
"""pytest --memtap: records each test with the marker `memtap` in its own process, on this
machine's GPU or a simulated one (--memtap-simulate h100), and checks its memory against limits:

    @pytest.mark.memtap(peak="2 GiB", category={"activations": "1 GiB"})
    def test_training_step(): ...

memtap's examples/ci/README.md explains the options."""

from __future__ import annotations

import difflib
import fnmatch
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Optional, Union

import pytest

from ._library import size_text
from .command import Problem, find_command
from .report import budget_text

WHOLE = ("peak", "reserved", "growth", "fragmentation", "end")
TABLES = ("category", "phase", "module", "site")
ALSO = {"limit": "peak"}  # synonyms of a limit
MARKER = (
    "memtap(peak=..., reserved=..., growth=..., fragmentation=..., end=..., category={}, phase={}, "
    "module={}, site={}, budget=FILE): record this test's GPU memory and check it against limits"
)
REPORTS = "PYTEST_MEMTAP_REPORTS"  # for the process of one test: the file for its reports
NODE = "PYTEST_MEMTAP_NODE"  # and the test
WITH_PATH = ("--memtap-command", "--memtap-dir", "--memtap-against")
PEAK = "memtap_peak"  # property of a recorded test, in bytes
PEAKS = 20  # in the summary
ID = "nodeid"  # in a test's folder: its node id
ROWS = 9  # of the table of call sites, in the report of a test that failed


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("memtap", "GPU memory")
    group.addoption(
        "--memtap", action="store_true", help="record tests with the marker memtap, each in its own process"
    )
    group.addoption(
        "--memtap-simulate", metavar="GPU", help="use a simulated GPU, such as h100, instead of this machine's"
    )
    group.addoption(
        "--memtap-dir", metavar="DIR", default="memtap-traces", help="directory for the traces (default: %(default)s)"
    )
    group.addoption(
        "--memtap-against",
        metavar="DIR",
        help="compare each test with its traces from an earlier run, in that run's --memtap-dir",
    )
    group.addoption(
        "--memtap-allow-missing",
        metavar="KIND:NAME",
        action="append",
        default=[],
        help="allow this test, process, rank, device or phase of the earlier run to be missing: test:tests/*, rank:3",
    )
    group.addoption(
        "--memtap-command",
        metavar="PATH",
        help="path of the command memtap (default: $MEMTAP, or that of this environment)",
    )
    parser.addini("memtap_peak", "the peak limit of each recorded test without its own")
    parser.addini("memtap_paths", "patterns of files whose tests are recorded without the marker", "args")
    parser.addini("memtap_markers", "further markers of tests to record, such as gpu", "args")
    parser.addini("memtap_exclude", "patterns of node ids of tests that are never recorded", "args")


def folder_name(nodeid: str) -> str:
    """Return a readable part and a digest of the complete id: ids may differ in one character, or only at their end."""
    readable = re.sub(r"[^\w.-]+", "-", nodeid.replace("::", "-")).strip("-.")[:120]
    return f"{readable}-{hashlib.sha256(nodeid.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


def joined(given: Iterable[str]) -> list[str]:
    """`--memtap-dir DIR` as `--memtap-dir=DIR`."""
    args = list(given)
    out: list[str] = []
    while args:
        arg = args.pop(0)
        out.append(f"{arg}={args.pop(0)}" if arg in WITH_PATH and args else arg)
    return out


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Union[int, pytest.ExitCode, None]:
    """pytest determines its root and its settings before it knows our options, and takes a path after one for
    a path of tests. Start again if that happened."""
    args = list(config.invocation_params.args)
    if joined(args) == args or "PYTEST_XDIST_WORKER" in os.environ:
        return None
    return pytest.main(joined(args), config.invocation_params.plugins)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    if not config.getoption("memtap") or os.environ.get(REPORTS):
        return
    named = config.getoption("memtap_command")
    try:
        command = shutil.which(named) if named else find_command()
    except Problem as problem:
        raise pytest.UsageError(f"--memtap: {problem}") from None
    if not command:
        raise pytest.UsageError(f"--memtap: no command {named}; set it with --memtap-command, or in $MEMTAP")
    config.option.memtap_command = os.path.abspath(command)  # tests may change the directory
    if config.getoption("memtap_against") and (
        Path(config.getoption("memtap_against")).resolve() == Path(config.getoption("memtap_dir")).resolve()
    ):
        raise pytest.UsageError(
            "--memtap-against and --memtap-dir are the same folder: the new traces would "
            "overwrite those to compare with"
        )
    config.pluginmanager.register(Recorder(config), "memtap-recorder")


# --- the process of one test -------------------------------------------------------------------------


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Passes the report to the pytest that started this one."""
    path = os.environ.get(REPORTS)
    if path and _child_config:
        data = _child_config.hook.pytest_report_to_serializable(config=_child_config, report=report)
        with open(path, "a", encoding="utf-8") as out:
            out.write(json.dumps(data, default=str) + "\n")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    global _child_config
    _child_config = session.config
    if os.environ.get(NODE):
        session.config.args = [os.environ[NODE]]


_child_config: Optional[pytest.Config] = None


# --- the pytest of all tests -------------------------------------------------------------------------


class Recorder:
    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.dir = Path(config.invocation_params.dir, config.getoption("memtap_dir"))
        self.lines: list[str] = []  # for the end of the session
        self.deselected: set[str] = set()
        self.begin = time.time()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Optional[bool]:
        if not self.is_recorded(item):
            return None
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self.run(item):
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def is_recorded(self, item: pytest.Item) -> bool:
        ini = self.config.getini
        if any(fnmatch.fnmatch(item.nodeid, pattern) for pattern in ini("memtap_exclude")):
            return False
        if self.config.getoption("usepdb", False):
            return False  # a debugger needs the terminal
        path = item.nodeid.split("::")[0]
        return bool(
            item.get_closest_marker("memtap")
            or any(item.get_closest_marker(name) for name in ini("memtap_markers"))
            or any(fnmatch.fnmatch(path, pattern) for pattern in ini("memtap_paths"))
        )

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Reject a misspelled marker, which would silently set no limit."""
        for item in items:
            for marker in item.iter_markers():
                if marker.name != "memtap" and difflib.get_close_matches(marker.name, ["memtap"], cutoff=0.8):
                    raise pytest.UsageError(f"{item.nodeid}: unknown marker '{marker.name}'; did you mean 'memtap'?")

    def run(self, item: pytest.Item) -> list[pytest.TestReport]:
        """Return the reports of a test, after it ran in its own process."""
        wrong = self.wrong_marker(item)
        if wrong:
            return [pytest.TestReport(item.nodeid, item.location, {}, "failed", f"memtap: {wrong}", "setup")]
        name = folder_name(item.nodeid)
        folder = self.dir / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / ID).write_text(item.nodeid, encoding="utf-8", errors="surrogateescape")
        with tempfile.TemporaryDirectory(prefix="pytest-memtap-") as work:
            path = Path(work, "reports.jsonl")
            done = subprocess.run(
                self.command(folder, work),
                check=False,
                text=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                errors="replace",
                stderr=subprocess.STDOUT,
                cwd=self.config.invocation_params.dir,
                env=self.environment(item, path),
            )
            lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        reports = [
            self.config.hook.pytest_report_from_serializable(config=self.config, data=json.loads(line))
            for line in lines
        ]
        for report in reports:
            if isinstance(report.longrepr, list):
                report.longrepr = tuple(report.longrepr)  # for a skip: JSON has only lists
        if not any(report.when == "teardown" for report in reports):
            reports.append(self.broken_off(item, done, reports))
        self.add_memory(item, folder, name, reports)
        return reports

    # --- tests of the earlier run that are missing from this one ---

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self.deselected.update(item.nodeid for item in items)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Report a missing test as a failure, since it has no memory to compare, unless it was not selected."""
        option = self.config.getoption
        if not option("memtap_against") or "PYTEST_XDIST_WORKER" in os.environ or option("collectonly"):
            return
        if int(session.exitstatus) not in (
            pytest.ExitCode.OK,
            pytest.ExitCode.TESTS_FAILED,
            pytest.ExitCode.NO_TESTS_COLLECTED,
        ):
            return
        done = {nodeid for nodeid, when in self.recorded(self.dir).items() if when >= self.begin - 1}
        before = self.recorded(Path(self.config.invocation_params.dir, option("memtap_against")))
        missing = sorted(before.keys() - done - self.deselected)
        missing = [nodeid for nodeid in missing if self.is_asked_for(nodeid)]
        if missing and option("numprocesses", None) and (option("keyword", "") or option("markexpr", "")):
            self.lines.append("missing tests were not checked: tests are deselected, or distributed by xdist")
            return
        for nodeid in missing:
            allowed = any(
                fnmatch.fnmatchcase(f"test:{nodeid}", pattern) or pattern == f"test:{nodeid}"
                for pattern in option("memtap_allow_missing")
            )
            self.lines.append(
                f"test {nodeid} is missing (allowed)"
                if allowed
                else f"test {nodeid} is missing: it is in {option('memtap_against')}; if that is intended, pass "
                f"--memtap-allow-missing 'test:{nodeid}'"
            )
            if not allowed:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @staticmethod
    def recorded(directory: Path) -> dict[str, float]:
        """Return the ids of the tests with traces in a --memtap-dir, and when they ran."""
        return {
            path.read_text(encoding="utf-8", errors="surrogateescape"): path.stat().st_mtime
            for path in directory.glob(f"*/{ID}")
            if any(path.parent.glob("*.mtap"))
        }

    def is_asked_for(self, nodeid: str) -> bool:
        """Return whether the session's arguments cover a test, which may no longer exist."""
        path, _, name = nodeid.partition("::")
        for arg in self.config.args:
            file, _, within = str(arg).partition("::")
            asked = Path(self.config.invocation_params.dir, file).resolve()
            test = Path(self.config.rootpath, path).resolve()
            if test == asked and (not within or name == within or name.startswith((f"{within}::", f"{within}["))):
                return True
            if asked in test.parents:
                return True
        return False

    def command(self, folder: Path, work: str) -> list[str]:
        """Return memtap run ... python -m pytest with this pytest's own arguments: a later option overrides an
        earlier one, and the test is in the environment."""
        config = self.config
        simulate = config.getoption("memtap_simulate")
        last = ["-k", "", "-m", "", "-o", f"cache_dir={work}/cache", "--rootdir", str(config.rootpath)]
        if config.inipath:
            last += ["-c", str(config.inipath)]
        if config.pluginmanager.hasplugin("junitxml"):
            last.append("--junitxml=")
        if config.pluginmanager.hasplugin("xdist") or os.environ.get("PYTEST_XDIST_WORKER"):
            last += ["-n", "0"]
        return [
            config.getoption("memtap_command"),
            "run",
            *(["--simulate", simulate] if simulate else []),
            "-o",
            str(folder / "%p.mtap"),
            "--",
            sys.executable,
            "-m",
            "pytest",
            *map(str, config.invocation_params.args),
            *last,
        ]

    def environment(self, item: pytest.Item, path: Path) -> dict[str, str]:
        mine = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
        file, colons, name = item.nodeid.partition("::")
        return {**mine, REPORTS: str(path), NODE: f"{Path(self.config.rootpath, file)}{colons}{name}"}

    def broken_off(
        self, item: pytest.Item, done: subprocess.CompletedProcess[str], reports: list[pytest.TestReport]
    ) -> pytest.TestReport:
        """Return the report for a process that ended before its test did, or never reached it."""
        code = done.returncode
        if code > 128 or code < 0:
            number = code - 128 if code > 128 else -code
            known = {member.value: member.name for member in signal.Signals}
            why = f"the test's process was killed by {known.get(number, number)}"
        else:
            why = f"the test's process exited with code {code} before the test ended"
        return pytest.TestReport(
            item.nodeid,
            item.location,
            {},
            "failed",
            f"memtap: {why}\n{done.stdout[-4000:]}",
            "call" if any(report.when == "setup" for report in reports) else "setup",
        )

    # --- memory ---

    def add_memory(self, item: pytest.Item, folder: Path, name: str, reports: list[pytest.TestReport]) -> None:
        """Fail a test that exceeds a limit, show the memory of a failed one, and keep its peak."""
        traces = sorted(folder.glob("*.mtap"))
        call = next((report for report in reports if report.when == "call"), None)
        if not traces:
            if call and call.passed and self.baseline(item, name):
                call.outcome = "failed"
                call.longrepr = (
                    f"memtap: {item.nodeid} used no GPU memory, but did in {self.config.getoption('memtap_against')}"
                )
            elif call and call.passed and self.limits(item):
                self.lines.append(f"{item.nodeid}: no GPU memory used; limits not checked")
            return
        if call:
            call.user_properties.append((PEAK, self.peak(traces)))
        if call and call.passed:
            call.outcome, call.longrepr = self.check(item, name, traces)
        failed = next((report for report in reports if report.failed), None)
        if failed:
            failed.sections.append((f"GPU memory ({folder})", self.summary(traces)))

    def peak(self, traces: list[Path]) -> int:
        """Return the highest peak of a test's processes in bytes."""
        reports = [self.memtap("report", "-f", "json", trace) for trace in traces]
        peaks = [json.loads(done.stdout)["peak"] for done in reports if done.stdout]
        return max((peak["allocated"] for peak in peaks if peak), default=0)

    def limits(self, item: pytest.Item) -> dict[str, Any]:
        """Return the limits: the marker closest to the test counts, then the session's own peak."""
        limits: dict[str, Any] = {}
        for marker in item.iter_markers("memtap"):
            limits = {**{ALSO.get(name, name): value for name, value in marker.kwargs.items()}, **limits}
        if self.config.getini("memtap_peak") and "budget" not in limits:
            limits.setdefault("peak", self.config.getini("memtap_peak"))
        return limits

    def wrong_marker(self, item: pytest.Item) -> Optional[str]:
        """Return what is wrong with a test's markers, or None."""
        limits, known = self.limits(item), [*WHOLE, *TABLES, "budget"]
        values = [value for marker in item.iter_markers("memtap") for value in marker.args]
        if values:
            return (
                f"the marker has {values[0]!r} without a name; write peak={values[0]!r}, or another limit of " + MARKER
            )
        for name, value in limits.items():
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                return f"the marker has {name}" + (f"; did you mean {near[0]}?" if near else "") + " Use " + MARKER
            if isinstance(value, dict) != (name in TABLES) or not isinstance(value, (dict, str, int, os.PathLike)):
                example = '{"...": "1 GiB"}' if name in TABLES else '"1 GiB"'
                return f"the marker has {name}={value!r}; write {name}={example}"
        return (
            "the marker has both budget and limits; move the limits into the budget"
            if ("budget" in limits and len(limits) > 1)
            else None
        )

    def check(self, item: pytest.Item, name: str, traces: list[Path]) -> tuple[Any, Optional[str]]:
        """('passed', None), or ('failed', why)."""
        limits, against = self.limits(item), self.baseline(item, name)
        if not limits and not against:
            return "passed", None
        with tempfile.TemporaryDirectory(prefix="pytest-memtap-") as work:
            budget = []
            if "budget" in limits:
                budget = ["--budget", str(Path(self.config.rootpath, limits["budget"]))]
            elif limits:
                budget = ["--budget", f"{work}/marker.toml"]
                Path(work, "marker.toml").write_text(budget_text(limits), encoding="utf-8")
            allowed = [word for pattern in self.config.getoption("memtap_allow_missing")
                       for word in ("--allow-missing", pattern)]  # fmt: skip
            done = self.memtap("check", *traces, *budget, *allowed, *(["--against", *against] if against else []))
        if done.returncode == 0:
            unknown = re.search(r"growth: unknown.*", done.stdout)
            if unknown and "growth" in limits:
                self.lines.append(f"{item.nodeid}: {unknown[0]}")
            return "passed", None
        what = "exceeds its GPU memory limits" if done.returncode == 1 else "could not be checked"
        return "failed", f"memtap: {item.nodeid} {what}\n\n{done.stdout}{done.stderr}".rstrip()

    def baseline(self, item: pytest.Item, name: str) -> list[Path]:
        directory = self.config.getoption("memtap_against")
        if not directory:
            return []
        found = sorted(Path(self.config.invocation_params.dir, directory, name).glob("*.mtap"))
        if not found:
            self.lines.append(f"{item.nodeid}: no trace in {directory}; not compared")
        return found

    def memtap(self, *arguments: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.config.getoption("memtap_command"), *map(str, arguments)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def summary(self, traces: list[Path]) -> str:
        """Return the peak, its categories and the largest call sites, from the report on the largest trace."""
        largest = max(traces, key=lambda trace: trace.stat().st_size)
        done = self.memtap("report", largest)
        begin, _, rest = done.stdout.partition("\nPeak of ")
        parts = ("Peak of " + rest).split("\n\n")
        sites = [part for part in parts if re.match(" +bytes +blocks ", part)]
        shown = [*parts[:2], *("\n".join(part.splitlines()[: ROWS + 1]) for part in sites[:1])]
        return "\n\n".join([*(shown if rest else [begin + done.stderr]), f"memtap report {largest}"])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        peaks = sorted(
            (
                (dict(report.user_properties)[PEAK], report.nodeid)
                for reports in terminalreporter.stats.values()
                for report in reports
                if PEAK in dict(getattr(report, "user_properties", ()))
            ),
            reverse=True,
        )
        if not self.lines and not peaks:
            return
        terminalreporter.section("GPU memory")
        for peak, test in peaks[:PEAKS]:
            terminalreporter.line(f"{size_text(peak):>11}  {test}")
        if peaks[PEAKS:]:
            terminalreporter.line(f"{'':>11}  and {len(peaks) - PEAKS} tests with lower peaks")
        for line in self.lines:
            terminalreporter.line(line)
