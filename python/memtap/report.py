# SPDX-License-Identifier: Apache-2.0
"""The command's reports as objects. Each has the complete answer as `data`, as the command's --format json prints it (its
man page lists every member), and the readable form as `text`."""

from __future__ import annotations

import dataclasses
import functools
import html
import json
import os
import pathlib
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Optional, TypeVar, Union

from ._library import size_text
from .command import run
from .trace import Path, Trace, traces_of

Kind = TypeVar("Kind")
Runs = Union[Path, Trace, Sequence[Union[Path, Trace]]]
BUDGET_TABLES = ("category", "phase", "module", "site")


def paths_of(runs: Runs) -> list[str]:
    """Return the files of a trace, of a folder, or of several."""
    if isinstance(runs, Trace):
        return [f"./{path}" if path.startswith("-") else path for path in runs.paths]
    if isinstance(runs, (str, os.PathLike)):
        return [f"./{path}" if path.startswith("-") else path for path in traces_of(runs)]
    return [path for one in runs for path in paths_of(one)]


def of_members(kind: type[Kind], row: Mapping[str, Any]) -> Kind:
    """Return a dataclass with the JSON members of the same names."""
    return kind(**{field.name: row.get(field.name) for field in dataclasses.fields(kind)})  # type: ignore[arg-type]


def place_text(line: Optional[Mapping[str, Any]]) -> str:
    if not line:
        return "unknown"
    return f"{os.path.basename(line['file'])}:{line['line']} {line['function']}"


def html_table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><caption>{html.escape(caption)}</caption><tr>{head}</tr>{body}</table>"


@dataclasses.dataclass(frozen=True)
class CallSite:
    """A line and its memory at the moment. operator: autograd's node, for memory allocated by backward. name: set by the program."""

    bytes: int
    blocks: int
    category: str
    file: Optional[str]
    line: Optional[int]
    function: Optional[str]
    operator: Optional[str]
    name: Optional[str]


class Report:
    """memtap report of a moment. For several traces, `data` is that of the highest peak, and `ranks` has all."""

    def __init__(self, paths: Sequence[str], at: str, data: dict[str, Any]) -> None:
        self._paths, self._at = tuple(paths), at
        self.job: Optional[dict[str, Any]] = data if data["schema"].startswith("memtap.job/") else None
        self.data: dict[str, Any] = data["ranks"][data["highest"]]["report"] if self.job else data

    @property
    def ranks(self) -> dict[Optional[int], dict[str, Any]]:
        """The reports of a job's ranks, as in JSON; {} for one trace."""
        return {rank["rank"]: rank["report"] for rank in self.job["ranks"]} if self.job else {}

    @property
    def _moment(self) -> dict[str, Any]:
        return self.data["peak"] or {}

    @property
    def allocated(self) -> int:
        """Bytes allocated at the moment, on the device with the highest peak; 0 if nothing ever was."""
        return int(self._moment.get("allocated", 0))

    @property
    def reserved(self) -> Optional[int]:
        """Bytes that PyTorch had reserved then; None without PyTorch."""
        return self._moment.get("reserved")

    @property
    def device(self) -> Optional[int]:
        """The CUDA index of that device."""
        return self._moment.get("device")

    @property
    def time_ns(self) -> int:
        """The time of the moment, in ns since the recording began."""
        return int(self._moment.get("time_ns", 0))

    @property
    def phase(self) -> Optional[str]:
        """ "outside", "forward", "backward" or "optimizer"; None without PyTorch."""
        return self._moment.get("phase")

    @property
    def iteration(self) -> Optional[int]:
        """The iteration, from 1; 0 is start-up; None without PyTorch."""
        return self._moment.get("iteration")

    @property
    def categories(self) -> dict[str, int]:
        """Bytes by category, for every category."""
        return dict(self._moment.get("categories", {}))

    @property
    def call_sites(self) -> list[CallSite]:
        """The lines with memory at the moment, largest first."""
        device = next((device for device in self.data["devices"] if device["device"] == self.device), None)
        return [
            of_members(CallSite, {**site, **(site["line"] or {})}) for site in (device["call_sites"] if device else [])
        ]

    @property
    def ended(self) -> str:
        """How the run ended: "whole", "oom", "killed" ..."""
        return str(self.data["ended"]["how"])

    @functools.cached_property
    def text(self) -> str:
        """The report as text."""
        return run("report", "--at", self._at, *self._paths)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<memtap.Report {self._paths[0]}: {size_text(self.allocated)} at {self._at}>"

    def _repr_html_(self) -> str:
        moment = f"{self._at} of device {self.device}" if self._moment else "no memory was allocated"
        reserved = f", reserved {size_text(self.reserved)}" if self.reserved is not None else ""
        categories = [
            (name.replace("_", " "), size_text(size))
            for name, size in sorted(self.categories.items(), key=lambda item: -item[1])
            if size
        ]
        sites = [
            (
                size_text(site.bytes),
                str(site.blocks),
                site.category.replace("_", " "),
                place_text({"file": site.file, "line": site.line, "function": site.function} if site.file else None),
            )
            for site in self.call_sites[:10]
        ]
        return html_table(
            f"memtap: {size_text(self.allocated)} allocated{reserved}, {moment}", ("category", "bytes"), categories
        ) + html_table("largest call sites", ("bytes", "blocks", "category", "line"), sites)


def report(runs: Runs, at: str = "peak") -> Report:
    """Return memtap report of a trace, or of a job's ranks. at: a moment, as in Trace."""
    paths = paths_of(runs)
    return Report(paths, at, json.loads(run("report", "--format", "json", "--at", at, *paths)))


@dataclasses.dataclass(frozen=True)
class DiffSite:
    """A line whose memory differs. change, now, blame: bytes; blame is the part of the change that nothing else offsets.
    kind: "new", "gone", "grown", "shrunk", "kept longer", "freed earlier" or "moved with the peak"."""

    change: int
    now: int
    blame: int
    kind: str
    category: str
    file: str
    line: int
    function: str
    operator: Optional[str]


class Diff:
    """memtap diff of two runs, or of two sets of runs."""

    def __init__(self, old: Sequence[str], new: Sequence[str], data: dict[str, Any]) -> None:
        self._old, self._new, self.data = tuple(old), tuple(new), data

    @property
    def same(self) -> bool:
        """Whether nothing has changed on any device, apart from noise."""
        return bool(self.data["same"])

    @property
    def verdict(self) -> str:
        """What changed and why, in a sentence."""
        return str(self.data["verdict"])

    @property
    def _main(self) -> Optional[dict[str, Any]]:
        return None if self.data["main"] is None else self.data["devices"][self.data["main"]]

    @property
    def change(self) -> int:
        """Bytes by which the peak grew, on the device of the verdict; negative if it shrank."""
        return int(self._main["allocated"]["change"]) if self._main else 0

    @property
    def categories(self) -> dict[str, int]:
        """Bytes by which each category grew there."""
        return {name: change["change"] for name, change in self._main["categories"].items()} if self._main else {}

    @property
    def sites(self) -> list[DiffSite]:
        """The lines that differ there, those responsible first."""
        return [
            of_members(DiffSite, {**site, "change": site["bytes"]["change"], "now": site["bytes"]["new"]})
            for site in (self._main["sites"] if self._main else [])
            if site["kind"] != "same"
        ]

    @functools.cached_property
    def text(self) -> str:
        """The comparison as text."""
        return run("diff", *self._old, "--to", *self._new)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<memtap.Diff {self.verdict}>"

    def _repr_html_(self) -> str:
        rows = [
            (
                f"{size_text(site.change)}",
                size_text(site.now),
                site.category.replace("_", " "),
                place_text(dataclasses.asdict(site)),
                site.kind,
            )
            for site in self.sites[:15]
        ]
        return html_table(f"memtap: {self.verdict}", ("change", "now", "category", "line", ""), rows)


def diff(old: Runs, new: Runs) -> Diff:
    """Compare runs: traces, folders, or several of one job or of repeated runs of one program."""
    before, after = paths_of(old), paths_of(new)
    return Diff(before, after, json.loads(run("diff", "--format", "json", *before, "--to", *after)))


@dataclasses.dataclass(frozen=True)
class Limit:
    """One limit of one run. value, most: what was measured and what is allowed, in bytes ("fragmentation": a fraction of 0 to 1);
    None if the limit is about how the run ended. known: False for growth in too few iterations."""

    limit: str
    holds: bool
    known: bool
    trace: str
    value: Optional[float]
    most: Optional[float]
    text: str


class Check:
    """memtap check: whether runs are within limits. True if all hold."""

    def __init__(self, data: dict[str, Any], text: str) -> None:
        self.data, self.text = data, text

    @property
    def holds(self) -> bool:
        """Whether every limit holds."""
        return bool(self.data["holds"])

    @property
    def limits(self) -> list[Limit]:
        """Every limit of every run."""
        return [of_members(Limit, limit) for limit in self.data["limits"]]

    @property
    def broken(self) -> list[Limit]:
        """The limits that do not hold."""
        return [limit for limit in self.limits if not limit.holds]

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<memtap.Check: {'all limits hold' if self.holds else f'{len(self.broken)} broken'}>"

    def _repr_html_(self) -> str:
        return html_table(
            f"memtap: {'all limits hold' if self.holds else f'{len(self.broken)} limits exceeded'}",
            ("limit", "", ""),
            [(limit.limit, "holds" if limit.holds else "broken", limit.text) for limit in self.limits],
        )


def limit_text(value: Any) -> str:
    """Return a limit as text: a number is in bytes. Strings are the same in JSON and TOML."""
    return json.dumps(f"{value} B" if isinstance(value, int) else value)


def budget_text(limits: Mapping[str, Any]) -> str:
    """Return a budget (memtap-budget(5))."""
    lines = ["[limits]"]
    lines += [
        f"{json.dumps(name)} = {limit_text(value)}" for name, value in limits.items() if name not in BUDGET_TABLES
    ]
    for table in BUDGET_TABLES:
        if table in limits:
            lines.append(f"[{table}]")
            lines += [f"{json.dumps(key)} = {limit_text(value)}" for key, value in limits[table].items()]
    return "\n".join(lines) + "\n"


def check(runs: Runs, budget: Union[Path, Mapping[str, Any], None] = None, against: Optional[Runs] = None) -> Check:
    """Check runs against limits. budget: a file (memtap-budget(5)), or its limits: {"peak": "20 GiB", "category": {"activations":
    "8 GiB"}}; sizes are texts with a unit, or bytes. against: earlier runs, for limits such as "+2 %"."""
    with tempfile.TemporaryDirectory(prefix="memtap-") as folder:
        arguments: list[Path] = list(paths_of(runs))
        if isinstance(budget, Mapping):
            written = pathlib.Path(folder, "budget.toml")
            written.write_text(budget_text(budget), encoding="utf-8")
            arguments += ["--budget", written]
        elif budget is not None:
            arguments += ["--budget", budget]
        if against is not None:
            arguments += ["--against", *paths_of(against)]
        answer = pathlib.Path(folder, "check.json")
        text = run("check", "-f", "text", "-f", f"json:{answer}", *arguments, good=(0, 1))
        return Check(json.loads(answer.read_text(encoding="utf-8")), text)
