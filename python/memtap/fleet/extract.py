# SPDX-License-Identifier: Apache-2.0
"""The tables of one trace by which many are compared (memtap-dataset(5)), computed from those of memtap.open with pyarrow."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any, Callable, Optional

from .. import _library
from .. import trace as traces
from ..command import Problem
from .questions import job_name

VERSION = "2"
COMPARED = ("runs", "sites", "growth")  # what memtap fleet needs
ALL = (*COMPARED, "samples", "blocks", "stacks", "events")  # what a dataset has
MOST_SITES = 1000
MOST_TEXT = 1000  # characters of a name in sites and growth, which memtap fleet loads for all ranks at once


class Unread(Problem):
    """A trace that is not compared, and why."""


def job_of(row: dict[str, Any]) -> str:
    """Return the program and its number of processes."""
    size = row["world_size"]
    return job_name(
        (_library.program(row["command"] or "") or "unknown") + (f"-x{size}" if size is not None and size > 1 else "")
    )


def parts(modules: Iterable[str]) -> str:
    """Return modules in short form, with names that differ only in a number joined: "embed, layers.0-7"."""
    numbered: dict[str, set[int]] = {}
    plain: set[str] = set()
    for module in modules:
        found = re.match(r"(.*?)(?:^|\.)(\d+)(?:\.|$)", module)
        if found:
            numbered.setdefault(found.group(1), set()).add(int(found.group(2)))
        else:
            plain.add(module.split(".")[0])
    words = sorted(plain)
    for name, numbers in sorted(numbered.items()):
        words += [f"{name}.{span}".lstrip(".") for span in _spans(sorted(numbers))]
    text = ", ".join(words)
    return text if len(text) <= 200 else text[:199] + "…"


def _spans(numbers: list[int]) -> list[str]:
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return [str(low) if low == high else f"{low}-{high}" for low, high in spans]


def plain(table: Any) -> Any:
    """Return texts without dictionary encoding."""
    pa = import_module("pyarrow")
    return table.cast(
        pa.schema(
            [
                pa.field(field.name, pa.string() if pa.types.is_dictionary(field.type) else field.type)
                for field in table.schema
            ]
        )
    )


def _texts(table: Any) -> int:
    """Return the size of the texts without dictionary encoding: a name of 60,000 characters may be in every row."""
    pa = import_module("pyarrow")
    pc = import_module("pyarrow.compute")
    size = 0
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            for chunk in column.chunks:
                lengths = pc.binary_length(chunk.dictionary).cast(pa.int64())
                size += pc.sum(lengths.take(chunk.indices)).as_py() or 0
    return size


def _whole(table: traces.Table, path: str, most: int) -> Any:
    """Return a table of a trace. Raise Unread if its texts exceed the limit for the trace's size."""
    whole = table.to_arrow()
    size = _texts(whole)
    if size > most:
        raise Unread(
            f"{path}: the texts of {table.name} are {_library.size_text(size)}, but a trace of this size may have {_library.size_text(most)}; "
            "MEMTAP_MOST_OUTPUT=SIZE allows more"
        )
    return whole


def _numbered(column: Any, change: Optional[Callable[[str], str]] = None) -> tuple[Any, Any]:
    """Return a column of texts as numbers (-1: null) of its distinct texts, and these texts, each changed, and truncated if long."""
    pa = import_module("pyarrow")
    pc = import_module("pyarrow.compute")
    column = column.unify_dictionaries().combine_chunks()
    if hasattr(column, "chunks"):
        column = column.chunk(0)
    known = column.dictionary
    if change:
        known = pa.array(map(change, known.to_pylist()), pa.string())
    texts = pc.utf8_slice_codeunits(known, 0, MOST_TEXT).dictionary_encode()
    return pc.fill_null(texts.indices.take(column.indices), -1), texts.dictionary


def _named(numbers: Any, texts: Any) -> Any:
    """Return the texts of such numbers, "" for null."""
    pa = import_module("pyarrow")
    pc = import_module("pyarrow.compute")
    return pc.fill_null(texts.take(pc.if_else(pc.less(numbers, 0), pa.scalar(None, pa.int32()), numbers)), "")


def _with(table: Any, first: dict[str, tuple[Any, Any]]) -> Any:
    """Prepend columns of one value each."""
    pa = import_module("pyarrow")
    columns = {name: pa.array([value] * table.num_rows, kind) for name, (value, kind) in first.items()}
    own = {name: table.column(name) for name in table.column_names if name not in first}
    return pa.table({**columns, **own})


def _sites(blocks: Any, file_name: Callable[[str], str]) -> Any:
    """Return the blocks of a moment by category, line, module and certainty of the category."""
    pa = import_module("pyarrow")
    pc = import_module("pyarrow.compute")
    keys = {"device": pc.fill_null(blocks["device"].cast(pa.int32()), -1)}
    texts = {}
    for name in ("category", "function", "file", "module", "operator", "certainty"):
        keys[name], texts[name] = _numbered(blocks[name], file_name if name == "file" else None)
    keys["line"] = pc.fill_null(blocks["line"], 0)
    table = pa.table(
        {**keys, "bytes": blocks["size"], "iteration": pc.fill_null(blocks["iteration"], 0), "event": blocks["event"]}
    )
    grouped = table.group_by(list(keys)).aggregate(
        [("bytes", "sum"), ("bytes", "count"), ("iteration", "min"), ("event", "min")]
    )
    names = {"bytes_sum": "bytes", "bytes_count": "blocks", "iteration_min": "iteration", "event_min": "event"}
    grouped = grouped.rename_columns([names.get(name, name) for name in grouped.column_names]).sort_by(
        [("bytes", "descending")]
    )
    grouped = grouped.slice(0, MOST_SITES)
    for name, known in texts.items():
        grouped = grouped.set_column(grouped.column_names.index(name), name, _named(grouped[name], known))
    return grouped


def _runs(ranks: Any, sites: Any, info: dict[str, str], name: str) -> Any:
    """Return each process and device, with what identifies its role."""
    pa = import_module("pyarrow")
    rows = ranks.to_pylist()
    held = [site for site in sites.to_pylist() if site["category"] == "parameters"]
    made = {"local_rank": [], "parameters": [], "parameters_in": []}  # type: dict[str, list[Any]]
    for row in rows:
        device = -1 if row["device"] is None else row["device"]
        own = [site for site in held if site["device"] == device]
        made["local_rank"].append(int(info["local_rank"]) if info.get("local_rank", "").isdigit() else None)
        made["parameters"].append(sum(site["bytes"] for site in own))
        made["parameters_in"].append(
            parts(site["module"] for site in own if site["module"]) or "no parameters of modules"
        )
    kinds = {"local_rank": pa.int32(), "parameters": pa.int64(), "parameters_in": pa.string()}
    for column, values in made.items():
        ranks = ranks.append_column(column, pa.array(values, kinds[column]))
    ranks = ranks.set_column(ranks.column_names.index("path"), "path", pa.array([name] * len(rows), pa.string()))
    return ranks


def _no_device(table: Any) -> Any:
    """Replace unknown devices by -1, for a key without NULL."""
    pa = import_module("pyarrow")
    pc = import_module("pyarrow.compute")
    place = table.column_names.index("device")
    return table.set_column(place, "device", pc.fill_null(table["device"].cast(pa.int32()), -1))


def read(path: str, name: str, run: str, wanted: Iterable[str] = COMPARED) -> dict[str, Any]:
    """Return the tables of a trace. name: its name in them; run: its run. Raise Unread if it cannot be compared."""
    pa = import_module("pyarrow")
    trace = traces.open(path)
    if trace.info.get("trace.state") == "running":
        raise Unread(f"{path}: still being written")
    most = _library.most_output(path)
    needed = ["ranks", "blocks", *(table for table in ("growth", "samples", "stacks", "events") if table in wanted)]
    tables = dict(zip(needed, traces.Table.of_one(path, needed)))
    directory = trace.info.get("working_directory", "")

    def whole(table: str, most: int = most) -> Any:
        return _whole(tables[table], path, most)

    def file_name(file: str) -> str:
        return _library.comparable_file(file, directory)

    ranks = plain(whole("ranks"))
    first = ranks.slice(0, 1).to_pylist()[0]
    if first["peak"] is None:
        raise Unread(f"{path}: no device memory")
    blocks = whole("blocks", most if "blocks" in wanted else sys.maxsize)
    sites = _sites(blocks, file_name)
    keys = {
        "job": (job_of(first), pa.string()),
        "run": (run, pa.string()),
        "rank": (-1 if first["rank"] is None else first["rank"], pa.int32()),
        "trace": (name, pa.string()),
    }
    made = {
        "runs": lambda: _no_device(_runs(ranks, sites, trace.info, name)),
        "sites": lambda: sites,
        "growth": lambda: _growth(whole("growth"), file_name),
        "samples": lambda: _no_device(plain(whole("samples"))),
        "blocks": lambda: _no_device(plain(blocks)),
        "stacks": lambda: plain(whole("stacks")),
        "events": lambda: _no_device(plain(whole("events"))),
    }
    return {table: _with(made[table](), keys) for table in wanted}


def _growth(table: Any, file_name: Callable[[str], str]) -> Any:
    pc = import_module("pyarrow.compute")
    for name in ("function", "file", "category", "certainty"):
        numbered = _numbered(table[name], file_name if name == "file" else None)
        table = table.set_column(table.column_names.index(name), name, _named(*numbered))
    return _no_device(table.set_column(table.column_names.index("line"), "line", pc.fill_null(table["line"], 0)))


def schema(table: str) -> Any:
    """Return the table's schema, with the dataset's version in its metadata."""
    pa = import_module("pyarrow")
    text, keys = pa.string(), [("job", pa.string()), ("run", pa.string()), ("rank", pa.int32()), ("trace", pa.string())]
    if table == "sites":
        own = [
            ("device", pa.int32()),
            ("category", text),
            ("function", text),
            ("file", text),
            ("module", text),
            ("operator", text),
            ("certainty", text),
            ("line", pa.int32()),
            ("bytes", pa.int64()),
            ("blocks", pa.int64()),
            ("iteration", pa.int32()),
            ("event", pa.int64()),
        ]
    else:
        given = pa.schema(traces.Table("ranks" if table == "runs" else table, []))
        own = [
            (
                field.name,
                pa.int32() if field.name == "device" else text if pa.types.is_dictionary(field.type) else field.type,
            )
            for field in given
            if field.name != "rank"
        ]
        own += (
            [("local_rank", pa.int32()), ("parameters", pa.int64()), ("parameters_in", text)] if table == "runs" else []
        )
    return pa.schema([*keys, *own], metadata={"memtap.dataset.version": VERSION, "memtap.table": table})


def problem_of(problem: BaseException, path: str) -> str:
    """Return why a trace was not read, without its name."""
    said: Optional[str] = str(problem) or type(problem).__name__
    return (said or "").removeprefix(f"{path}: ")
