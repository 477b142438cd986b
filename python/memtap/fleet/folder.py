# SPDX-License-Identifier: Apache-2.0
"""A folder with the traces of many ranks, read by as many processes as there are cores."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import multiprocessing
import os
import pathlib
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

from ..command import Problem
from . import extract

AT_ONCE = 32  # traces per piece of work
WAITING = 4  # pieces a process may be ahead


@dataclasses.dataclass(frozen=True)
class Found:
    """A trace of a folder. name: relative to the folder; run: its directory."""

    path: str
    name: str
    run: str


def find(top: str) -> list[Found]:
    """Return all traces in a folder and its subfolders."""
    if os.path.isfile(top):
        return [Found(top, os.path.basename(top), pathlib.Path(top).resolve().parent.name)]
    found = []
    for folder, inner, files in os.walk(top, onerror=_not_listed):
        inner.sort()
        relative = os.path.relpath(folder, top)
        run = pathlib.Path(top).resolve().name if relative == "." else relative.replace(os.sep, "/")
        found += [
            Found(os.path.join(folder, file), os.path.normpath(os.path.join(relative, file)), run)
            for file in sorted(files)
            if file.endswith(".mtap")
        ]
    if not found:
        raise Problem(f"{top}: no trace (*.mtap) in this folder")
    return found


def _not_listed(error: OSError) -> None:
    raise Problem(f"{error.filename}: {error.strerror}")


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def read_each(
    found: Iterable[Found], wanted: Sequence[str], skipped: list[tuple[str, str]]
) -> Iterator[tuple[Found, dict[str, Any]]]:
    """Yield each trace with its tables; those that cannot be read are added to skipped, with the reason."""
    pa = import_module("pyarrow")
    for one in found:
        try:
            read = extract.read(one.path, one.name, one.run, wanted)
        except (Problem, OSError, pa.ArrowException) as problem:
            skipped.append((one.name, extract.problem_of(problem, one.path)))
            continue
        yield one, read


def read_some(found: Iterable[Found], wanted: Sequence[str]) -> tuple[dict[str, bytes], list[tuple[str, str]]]:
    """Return the tables of some traces, each as an Arrow stream, and those that were not read with the reason."""
    pa = import_module("pyarrow")
    tables: dict[str, list[Any]] = {table: [] for table in wanted}
    skipped: list[tuple[str, str]] = []
    for _, read in read_each(found, wanted, skipped):
        for table in wanted:
            tables[table].append(read[table])
    return {
        table: stream(pa.concat_tables([extract.schema(table).remove_metadata().empty_table(), *parts]))
        for table, parts in tables.items()
    }, skipped


def stream(table: Any) -> bytes:
    """Return a table as an Arrow stream, with each text once."""
    pa = import_module("pyarrow")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([(field.name, _packed(field)) for field in table.schema])) as out:
        out.write_table(_pack(table))
    made: bytes = sink.getvalue().to_pybytes()
    return made


def _packed(field: Any) -> Any:
    pa = import_module("pyarrow")
    return pa.dictionary(pa.int32(), pa.string()) if field.type == pa.string() else field.type


def _pack(table: Any) -> Any:
    """Combine the chunks, with each text once."""
    pa = import_module("pyarrow")
    table = table.combine_chunks()
    columns = {}
    for field in table.schema:
        column = table[field.name]
        columns[field.name] = column.dictionary_encode() if field.type == pa.string() else column
    return pa.table(columns)


def spread(work: Any, found: Sequence[Any], *rest: Any) -> Iterator[Any]:
    """Call work(piece of found, *rest) in other processes; yield the results in the order of the pieces."""
    pieces = [found[i : i + AT_ONCE] for i in range(0, len(found), AT_ONCE)]
    processes = min(cores(), len(pieces))
    if processes <= 1:
        yield from (work(piece, *rest) for piece in pieces)
        return
    with concurrent.futures.ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        waiting: list[Any] = []
        for piece in pieces:
            waiting.append(pool.submit(work, piece, *rest))
            if len(waiting) >= processes * WAITING:
                yield waiting.pop(0).result()
        for one in waiting:
            yield one.result()


def read(
    found: Sequence[Found], wanted: Sequence[str] = extract.COMPARED
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the tables of all traces, and those that were not read with the reason."""
    pa = import_module("pyarrow")
    tables: dict[str, list[Any]] = {table: [] for table in wanted}
    skipped: list[tuple[str, str]] = []
    for packed, left_out in spread(read_some, found, tuple(wanted)):
        skipped += left_out
        for table in wanted:
            tables[table].append(pa.ipc.open_stream(pa.py_buffer(packed[table])).read_all())
    return {table: pa.concat_tables(parts) for table, parts in tables.items()}, skipped
