# SPDX-License-Identifier: Apache-2.0
"""The dataset: Parquet files by job, run and rank (memtap-dataset(5))."""

from __future__ import annotations

import json
import os
import pathlib
import urllib.parse
import zlib
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import IO, Any, Callable

from ..command import Problem
from . import extract, folder

MARK = "_memtap.json"  # engines skip names that begin with _
PARTITIONS = ("job", "run", "rank")


def is_dataset(path: str) -> bool:
    return os.path.isfile(os.path.join(path, MARK))


def _version(path: str) -> str:
    try:
        return str(json.loads(pathlib.Path(path, MARK).read_text(encoding="utf-8"))["version"])
    except (ValueError, KeyError, TypeError, OSError) as wrong:
        raise Problem(
            f"{path}/{MARK}: not a dataset mark of memtap ({type(wrong).__name__}); export the traces again"
        ) from None


def left_out(path: str) -> list[tuple[str, str]]:
    """Return the traces that could not be exported, with the reason."""
    listed = json.loads(pathlib.Path(path, MARK).read_text(encoding="utf-8")).get("left_out", [])
    return [(str(trace), str(reason)) for trace, reason in listed]


def write_some(found: Sequence[folder.Found], out: str, wanted: Sequence[str]) -> tuple[int, list[tuple[str, str]]]:
    """Write the tables of some traces. Return how many, and those that were not read with the reason."""
    skipped: list[tuple[str, str]] = []
    for one, tables in folder.read_each(found, wanted, skipped):
        try:
            for name, table in tables.items():
                _write(table, name, out, one.name)
        except OSError as error:  # can be pickled
            raise Problem(f"{error.filename or out}: {error.strerror or error}") from None
    return len(found) - len(skipped), skipped


def _write(table: Any, name: str, out: str, trace: str) -> None:
    pa = import_module("pyarrow")
    pq = import_module("pyarrow.parquet")
    if not table.num_rows:
        return
    keys = {key: table.column(key)[0].as_py() for key in PARTITIONS}
    place = pathlib.Path(
        out, name, *(f"{key}={urllib.parse.quote(str(value), safe='')}" for key, value in keys.items())
    )
    place.mkdir(parents=True, exist_ok=True)
    schema = extract.schema(name)
    whole = pa.concat_tables([schema.empty_table(), table.select(schema.names)]).drop_columns(list(PARTITIONS))
    whole = whole.replace_schema_metadata(schema.metadata)
    _keep(
        place / f"part-{zlib.crc32(trace.encode()):08x}.parquet",
        lambda file: pq.write_table(whole, file, compression="zstd"),
    )


def _keep(path: pathlib.Path, write: Callable[[IO[bytes]], object]) -> None:
    """Rename a file once it is complete, as the commands do. Mode "x" does not follow links."""
    made = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    try:
        with open(made, "xb") as file:
            write(file)
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)


def _write_mark(out: str, mark: Mapping[str, Any]) -> None:
    text = json.dumps(mark, indent=2) + "\n"
    _keep(pathlib.Path(out, MARK), lambda file: file.write(text.encode()))


def write(
    found: Sequence[folder.Found], out: str, wanted: Sequence[str] = extract.ALL
) -> tuple[int, list[tuple[str, str]]]:
    """Write the dataset into a folder that is new, empty or a dataset. Return how many traces, and those that were left out."""
    skipped: list[tuple[str, str]] = []
    if os.path.isdir(out) and is_dataset(out):
        skipped = left_out(out)
        if _version(out) != extract.VERSION:
            raise Problem(f"{out}: a dataset of version {_version(out)}; give another folder with -o")
    elif os.path.exists(out) and (not os.path.isdir(out) or os.listdir(out)):
        raise Problem(f"{out}: exists and is not a memtap dataset; give another folder with -o")
    try:
        for name in extract.ALL:  # also for those without rows
            os.makedirs(os.path.join(out, name), exist_ok=True)
        tables = {name: extract.schema(name) for name in extract.ALL}
        mark: dict[str, Any] = {
            "version": extract.VERSION,
            "partitions": PARTITIONS,
            "tables": {name: {field.name: str(field.type) for field in schema} for name, schema in tables.items()},
        }
        _write_mark(out, mark)
        written = 0
        for some, not_read in folder.spread(write_some, found, out, tuple(wanted)):
            written += some
            skipped += not_read
        mark["left_out"] = sorted(set(skipped))
        _write_mark(out, mark)
    except OSError as error:
        raise Problem(f"{error.filename or out}: {error.strerror or error}") from None
    return written, skipped


def read(path: str, wanted: Sequence[str] = extract.COMPARED) -> dict[str, Any]:
    """Return the tables of a dataset."""
    pa = import_module("pyarrow")
    ds = import_module("pyarrow.dataset")
    if _version(path) != extract.VERSION:
        raise Problem(
            f"{path}: a dataset of version {_version(path)}, but this memtap reads {extract.VERSION}; export the traces again"
        )
    tables = {}
    for name in wanted:
        schema = extract.schema(name)
        place = os.path.join(path, name)
        if not os.path.isdir(place) or not os.listdir(place):
            tables[name] = schema.empty_table()
            continue
        keys = ds.partitioning(pa.schema([(key, schema.field(key).type) for key in PARTITIONS]), flavor="hive")
        try:
            tables[name] = ds.dataset(place, schema=schema, partitioning=keys, format="parquet").to_table(
                columns=schema.names
            )
        except (OSError, pa.ArrowException) as wrong:
            raise Problem(f"{place}: {str(wrong).splitlines()[0]}; export the traces again") from None
    return tables
