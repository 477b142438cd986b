# SPDX-License-Identifier: Apache-2.0
"""Traces on many machines, with Spark:

    spark.dataSource.register(memtap.spark.TraceSource)
    spark.read.format("memtap").option("table", "sites").load("/shared/runs")     # traces themselves
    memtap.spark.traces(spark, "s3a://bucket/runs", "sites")                     # from any path that Spark can read
    memtap.spark.dataset(spark, "s3a://bucket/dataset", "sites")                 # what memtap export --format parquet wrote
    print(memtap.spark.ask(spark, "s3a://bucket/runs").as_text())                # the questions of memtap fleet

Tables: runs, sites, growth, samples, blocks, stacks, events (memtap-dataset(5)). Executors need this package and pyarrow.
A trace that cannot be read is left out; the table "left_out" has its name and the reason."""

from __future__ import annotations

import itertools
import os
import posixpath
import re
import tempfile
import urllib.parse
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

from .command import Problem
from .fleet import Answers, Asked, ask_engine, extract, folder
from .fleet import dataset as datasets

LEFT_OUT = "left_out"
TYPES = {"int16": "SMALLINT", "int32": "INT", "int64": "BIGINT", "string": "STRING"}


def ddl(table: str) -> str:
    """Return a table's columns as a Spark schema."""
    if table == LEFT_OUT:
        return "trace STRING, reason STRING"
    return ", ".join(f"`{field.name}` {TYPES[str(field.type)]}" for field in extract.schema(table))


def _split(uri: str) -> tuple[str, str]:
    """Return (scheme, path) of a Hadoop path: nothing in it is escaped, so # and % are ordinary characters."""
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):(?://[^/]*)?(/.*)", uri, re.DOTALL)
    return (found[1], found[2]) if found else ("", uri)


def _is_local(uri: str) -> bool:
    return _split(uri)[0] in ("", "file")


def _names(uri: str, top: str) -> tuple[str, str]:
    """Return the name of a trace and its run, as in memtap fleet (fleet/folder.py)."""
    base = _split(top)[1].rstrip("/")
    name = posixpath.relpath(_split(uri)[1], base)
    return name, posixpath.dirname(name) or posixpath.basename(base)


def _found(rows: Iterable[dict[str, Any]], top: str) -> Iterator[folder.Found]:
    """Yield traces by their URIs. A trace with content is in a local file until the next one is requested."""
    for row in rows:
        name, run = _names(row["path"], top)
        if "content" not in row:
            yield folder.Found(_split(row["path"])[1], name, run)
            continue
        with tempfile.NamedTemporaryFile(prefix="memtap-", suffix=".mtap") as file:
            file.write(row["content"])
            file.flush()
            yield folder.Found(file.name, name, run)


def _rows(one: folder.Found, table: str) -> Any:
    """Return a trace's rows of a table; for left_out, why it has none; None if there are no rows."""
    pa = import_module("pyarrow")
    try:
        read = extract.read(one.path, one.name, one.run, ["runs"] if table == LEFT_OUT else [table])
    except (Problem, OSError, pa.ArrowException) as problem:
        return _left_out([(one.name, extract.problem_of(problem, one.path))]) if table == LEFT_OUT else None
    if table == LEFT_OUT:
        return None
    return pa.concat_tables([extract.schema(table).remove_metadata().empty_table(), read[table]])


def _left_out(skipped: Sequence[tuple[str, str]]) -> Any:
    pa = import_module("pyarrow")
    return pa.table(
        {
            "trace": pa.array([trace for trace, _ in skipped], pa.string()),
            "reason": pa.array([reason for _, reason in skipped], pa.string()),
        }
    )


def _each(batches: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        for i in range(batch.num_rows):
            row: dict[str, Any] = batch.slice(i, 1).to_pylist()[0]
            yield row


def _files(spark: Any, path: str) -> tuple[Any, str]:
    """Return the traces under a path, with their content if executors may not see the files, for as many tasks as there are
    cores; and the path that their names begin with. Raise Problem if the path does not exist."""
    errors = import_module("pyspark.errors")
    files = spark.read.format("binaryFile").option("pathGlobFilter", "*.mtap").option("recursiveFileLookup", "true")
    try:
        files = files.load(path)
    except errors.AnalysisException as wrong:
        raise Problem(f"{path}: cannot be read: {str(wrong).splitlines()[0]}") from None
    # Spark's scan leaves out empty files, its list does not.
    listed = sorted(urllib.parse.unquote(uri) for uri in files.inputFiles())
    if _is_local(path):
        files = spark.createDataFrame([(uri,) for uri in listed], "path STRING")
    else:
        scanned = {row["path"] for row in files.select("path").collect()}
        empty = [(uri, b"") for uri in listed if uri not in scanned]
        files = files.select("path", "content").union(spark.createDataFrame(empty, "path STRING, content BINARY"))
    # A file of a few kB costs as much as its replay: tasks with equally many files are equal work.
    tasks = max(spark.sparkContext.defaultParallelism * 4, 1)
    return files.repartition(tasks), path if _split(path)[0] else os.path.abspath(path)


def traces(spark: Any, path: str, table: str) -> Any:
    """Return a table of all traces under a path that Spark can read, as a DataFrame. If executors see the files (a local or
    shared file system), they are read in place, with their tails; otherwise Spark transfers their content (at most 2 GiB each)."""
    files, top = _files(spark, path)

    def read(batches: Iterable[Any]) -> Iterator[Any]:
        for one in _found(_each(batches), top):
            rows = _rows(one, table)
            if rows is not None and rows.num_rows:
                yield from rows.to_batches()

    return files.mapInArrow(read, ddl(table))


def _packed(spark: Any, path: str, wanted: Sequence[str]) -> Any:
    """Return tables of all traces under a path, each trace read once: rows of a table's name and some of its rows as an Arrow stream."""
    files, top = _files(spark, path)

    def read(batches: Iterable[Any]) -> Iterator[Any]:
        pa = import_module("pyarrow")
        found = _found(_each(batches), top)
        for first in found:
            some, skipped = folder.read_some(
                itertools.chain([first], itertools.islice(found, folder.AT_ONCE - 1)), wanted
            )
            some[LEFT_OUT] = folder.stream(_left_out(skipped))
            yield pa.record_batch(
                {"table": pa.array(list(some), pa.string()), "rows": pa.array(list(some.values()), pa.binary())}
            )

    return files.mapInArrow(read, "table STRING, rows BINARY")


def _unpacked(packed: Any, table: str) -> Any:
    """Return a table from what _packed returned, as a DataFrame."""

    def read(batches: Iterable[Any]) -> Iterator[Any]:
        pa = import_module("pyarrow")
        for row in _each(batches):
            yield from extract.plain(pa.ipc.open_stream(row["rows"]).read_all()).to_batches()

    return packed.where(packed["table"] == table).select("rows").mapInArrow(read, ddl(table))


def dataset(spark: Any, path: str, table: str) -> Any:
    """Return a table of a dataset, as a DataFrame."""
    wanted = extract.schema(table)
    errors = import_module("pyspark.errors")
    try:
        return spark.read.schema(ddl(table)).parquet(posixpath.join(path, table)).select(*wanted.names)
    except errors.AnalysisException as wrong:
        if wrong.getCondition() != "PATH_NOT_FOUND" or table == "runs":
            raise
        return spark.createDataFrame([], ddl(table))  # an object store has no empty folders


class SparkEngine:
    """An engine for the questions (fleet/questions.py)."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark

    def give(self, name: str, frame: Any) -> None:
        # Materialized, without its plan: plans of plans grow without bound.
        frame.localCheckpoint().createOrReplaceTempView(name)

    def table(self, name: str, sql: str) -> None:
        self.give(name, self.spark.sql(sql))

    def rows(self, sql: str) -> list[dict[str, Any]]:
        return [row.asDict() for row in self.spark.sql(sql).collect()]


def _own_session(spark: Any) -> Any:
    """Return a session with the caller's settings but its own views; before Spark 4, which cannot list them, the caller's session."""
    settings = getattr(spark.conf, "getAll", None)
    if settings is None:
        return spark
    own = spark.newSession()
    for name, value in settings.items():
        if own.conf.isModifiable(name):
            own.conf.set(name, value)
    return own


def ask(spark: Any, path: str, asked: Asked = Asked(), is_dataset: bool = False) -> Answers:
    """Answer all questions of memtap fleet about the traces under a path or about a dataset there. Raise Problem if there is
    nothing to compare."""
    spark = _own_session(spark)
    engine = SparkEngine(spark)
    if is_dataset or datasets.is_dataset(path):
        for table in extract.COMPARED:
            engine.give(table, dataset(spark, path, table))
        skipped = datasets.left_out(path) if datasets.is_dataset(path) else []
    else:
        packed = _packed(spark, path, extract.COMPARED).localCheckpoint()
        for table in extract.COMPARED:
            engine.give(table, _unpacked(packed, table))
        skipped = sorted((row["trace"], row["reason"]) for row in _unpacked(packed, LEFT_OUT).collect())
    return ask_engine(engine, asked, path, skipped)


def __getattr__(name: str) -> Any:
    """Import TraceSource at its first use: it needs pyspark 4."""
    if name == "TraceSource":
        from .spark_source import TraceSource

        return TraceSource
    raise AttributeError(f"module 'memtap.spark' has no attribute {name!r}")
