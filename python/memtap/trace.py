# SPDX-License-Identifier: Apache-2.0
"""Traces as tables for any reader of Arrow: polars, pandas, pyarrow, DuckDB and others, without copies."""

from __future__ import annotations

import dataclasses
import html
import os
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _library
from .command import Problem, find_command

if TYPE_CHECKING:
    from .report import Report

Path = Union[str, "os.PathLike[str]"]

SHOWN_ROWS = 5  # of a printed table
SHOWN_TEXT = 32  # characters of a cell


def _cell(value: Any) -> str:
    """Return a cell as text on one line."""
    text = "-" if value is None else "".join(c if c.isprintable() else "?" for c in str(value))
    return text if len(text) <= SHOWN_TEXT else text[: SHOWN_TEXT - 1] + "\N{HORIZONTAL ELLIPSIS}"


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a table. unit: "bytes", "ns", or "" if it has none."""

    name: str
    type: str
    unit: str
    meaning: str


class Table:
    """Rows of traces, for everything that reads Arrow streams (polars.DataFrame(table), pyarrow.table(table),
    pandas.DataFrame.from_arrow(table), duckdb.from_arrow(table)). The first batch is read when the table is created, so a
    moment that is not in the trace is an error there; the rest is read on request. A table can be read more than once,
    which reads the trace again. A stream stays valid when the table or the trace is deleted. Printed, a table shows its
    first rows; len() reads all of them."""

    def __init__(self, name: str, paths: Sequence[str], at: Optional[str] = None, damaged: bool = False) -> None:
        self.name = name
        self._given = (tuple(paths), name, at, damaged)
        self._begun = [_library.stream_capsule(*self._given)]  # for the first reader
        self._shown: Optional[tuple[list[tuple[Any, ...]], int]] = None

    @classmethod
    def of_one(cls, path: str, names: Sequence[str]) -> list[Table]:
        """Return several tables of one trace at its peak, which is analyzed once for all of them."""
        tables = []
        for name, stream in zip(names, _library.stream_capsules(path, names, False)):
            table = cls.__new__(cls)
            table.name, table._given, table._begun, table._shown = name, ((path,), name, None, False), [stream], None
            tables.append(table)
        return tables

    def __arrow_c_schema__(self) -> Any:
        return _library.schema_capsule(self.name)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        try:
            return self._begun.pop()
        except IndexError:
            return _library.stream_capsule(*self._given)

    @property
    def columns(self) -> list[Column]:
        """The columns of the table."""
        return [Column(*column) for column in _library.columns_of(self.name)]

    def to_arrow(self) -> Any:
        """Return a pyarrow.Table."""
        return _need("pyarrow").table(self)

    def to_polars(self) -> Any:
        """Return a polars.DataFrame; texts have its type Categorical."""
        return _need("polars").DataFrame(self)

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame (through pyarrow)."""
        _need("pandas")
        return self.to_arrow().to_pandas()

    def _first(self) -> tuple[list[tuple[Any, ...]], int]:
        """Return the first rows and how many there are in all."""
        if self._shown is None:
            self._shown = _library.rows_of(_library.stream_capsule(*self._given), self.name, SHOWN_ROWS)
        return self._shown

    def __len__(self) -> int:
        return self._first()[1]

    def __bool__(self) -> bool:
        return True

    def _length(self) -> str:
        return f"{len(self):,} row{'s' if len(self) != 1 else ''} of {len(self.columns)} columns"

    def __repr__(self) -> str:
        """Return the first rows in columns; columns that do not fit 80 characters are listed below."""
        try:
            rows, length = self._first()
        except Problem as wrong:
            return f"<memtap.Table {self.name}: {wrong}>"
        names = [column.name for column in self.columns]
        text = [[_cell(value) for value in row] for row in rows]
        widths = [max(map(len, (name, *(row[i] for row in text)))) for i, name in enumerate(names)]
        fits = 0
        while fits < len(names) and sum(widths[: fits + 1]) + 2 * fits <= 80:
            fits += 1
        lines = [f"<memtap.Table {self.name}: {self._length()}>"]
        for row in (names, *text):
            lines.append("  ".join(cell.ljust(width) for cell, width in zip(row[:fits], widths)).rstrip())
        if length > len(rows):
            lines.append(f"... {length - len(rows):,} more")
        if fits < len(names):
            lines.append("and " + ", ".join(names[fits:]))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows, length = self._first()
        head = "".join(
            f'<th title="{html.escape(column.meaning)}">{html.escape(column.name)}</th>' for column in self.columns
        )
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>" for row in rows
        )
        more = f", the first {len(rows)}" if length > len(rows) else ""
        return (
            f"<table><caption>memtap's table {html.escape(self.name)}: {self._length()}{more}; pass it to polars, pyarrow, "
            f"pandas or DuckDB</caption><tr>{head}</tr>{body}</table>"
        )


class Page:
    """The page of memtap view for a notebook's output cell: HTML that needs no network."""

    def __init__(self, frame: str) -> None:
        self._frame = frame

    def __repr__(self) -> str:
        return "<memtap.Page>"

    def _repr_html_(self) -> str:
        return self._frame


class Trace:
    """A trace, or those of a job's ranks. Tables of several have the rows of one rank after the other, with the column rank.
    `at` is a moment: "peak" (each device's own), "end", "oom", "last-turn", a time ("1.5s"), "event:N", "begin:N" and "step:N" of
    iteration N."""

    def __init__(self, paths: Sequence[str], damaged: bool = False) -> None:
        self.paths = tuple(paths)
        self._damaged = damaged
        self._closed = False
        self._about: Optional[dict[str, str]] = _library.about(self.paths[0]) if self.paths else None
        for path in self.paths[1:]:
            _library.about(path)

    @property
    def info(self) -> dict[str, str]:
        """Facts from the (first) trace about its process: "command", "pid", "torch" ..., and about itself: "trace.state" ("closed",
        "running", "killed" ...), "trace.bytes"; if it was closed, "trace.events", "trace.lost", "trace.length_ns"."""
        return dict(self._about or {})

    def _table(self, name: str, at: Optional[str] = None) -> Table:
        if self._closed:
            raise Problem(f"{self.paths[0]}: the trace is closed")
        return Table(name, self.paths, at, self._damaged)

    def events(self) -> Table:
        """Return every event, in the trace's order: kind, time_ns, device, address, size, totals, stack."""
        return self._table("events")

    def blocks(self, at: Optional[str] = "peak") -> Table:
        """Return blocks of memory with category, evidence, size, lifetime, line, module, dtype: those that were live at a moment,
        or with None all of them, in the order of their ends."""
        return self._table("blocks", "all" if at is None else at)

    def stacks(self) -> Table:
        """Return every stack: its innermost frame, and the row of its caller."""
        return self._table("stacks")

    def categories(self, at: str = "peak") -> Table:
        """Return the bytes and blocks of each category at a moment, by device."""
        return self._table("categories", at)

    def phases(self) -> Table:
        """Return each run of a phase (forward, backward, optimizer's step) with the least and the most allocated in it."""
        return self._table("phases")

    def ranks(self) -> Table:
        """Return each process and device: the job's facts, how it ended, and its peak."""
        return self._table("ranks")

    def samples(self) -> Table:
        """Return what is allocated by category, and reserved, at up to 64 places of the run, each with its highest moment."""
        return self._table("samples")

    def growth(self) -> Table:
        """Return the lines that leave blocks allocated in iteration after iteration."""
        return self._table("growth")

    def report(self, at: str = "peak") -> Report:
        """Return memtap report of the moment; for several traces, of the one with the highest peak."""
        from .report import report

        return report(self.paths, at)

    def view(self, height: int = 760) -> Page:
        """Return the page of memtap view for a notebook's output cell. height: in CSS pixels."""
        from .notebook import frame_of

        return Page(frame_of(find_command(), self.paths, height, lambda _: None))

    def close(self) -> None:
        """Close the trace: no more tables. Existing streams stay valid."""
        self._closed = True

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"<memtap.Trace {self.paths[0]}{more}>"

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


def _need(package: str) -> Any:
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError:
        raise Problem(f"{package} is not installed; pip install {package}") from None


def traces_of(path: Path) -> list[str]:
    """Return a trace, or the traces of a folder by name."""
    place = pathlib.Path(path)
    if not place.is_dir():
        return [os.fspath(path)]
    found = sorted(map(str, place.glob("*.mtap")))
    if not found:
        raise Problem(f"{path}: no trace (*.mtap) in this folder")
    return found


def open(path: Union[Path, Sequence[Path]], damaged: bool = False) -> Trace:
    """Open a trace, a folder of traces (of one job's ranks), or several of them. damaged: read a damaged trace up to
    the damage; otherwise reading its tables fails there. A trace that is still being written, or whose process was killed, is
    not damaged."""
    given = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    paths = [trace for one in given for trace in traces_of(one)]
    if not paths:
        raise Problem("no trace given")
    return Trace(paths, damaged)
