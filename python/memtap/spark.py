# SPDX-License-Identifier: Apache-2.0
"""Traces on many machines, by Spark:

    spark.dataSource.register(memtap.spark.TraceSource)
    spark.read.format("memtap").option("table", "sites").load("/shared/runs")     # traces themselves
    memtap.spark.traces(spark, "s3a://bucket/runs", "sites")                     # from any path that Spark reads
    memtap.spark.dataset(spark, "s3a://bucket/dataset", "sites")                 # what memtap export --format parquet wrote
    print(memtap.spark.ask(spark, "s3a://bucket/runs").as_text())                # the questions of memtap fleet

Tables: runs, sites, growth, samples, blocks, stacks, events (docs/fleet-dataset.md). Executors need this package and pyarrow.
A trace that cannot be read is left out; the table "left_out" has its name and the reason."""
from __future__ import annotations

import os
import posixpath
import tempfile
import urllib.parse
from importlib import import_module
from typing import Any, Iterable, Iterator, Optional

from .command import Problem
from .fleet import Answers, Asked, ask_engine
from .fleet import dataset as datasets
from .fleet import extract

LEFT_OUT = "left_out"
TYPES = {"int16": "SMALLINT", "int32": "INT", "int64": "BIGINT", "string": "STRING"}


def ddl(table: str) -> str:
    """A table's columns as Spark declares them."""
    if table == LEFT_OUT:
        return "trace STRING, reason STRING"
    return ", ".join(f"`{field.name}` {TYPES[str(field.type)]}" for field in extract.schema(table))


def _local(uri: str) -> Optional[str]:
    """The path that a URI is on this machine; None: it is elsewhere."""
    parsed = urllib.parse.urlparse(uri)
    if parsed.scheme not in ("", "file"):
        return None
    path = urllib.parse.unquote(parsed.path) if parsed.scheme else uri
    return path if os.path.exists(path) else None


def _names(uri: str, top: str) -> tuple[str, str]:
    """What a trace is called, and its run: as memtap fleet has them (fleet/folder.py)."""
    path, base = (urllib.parse.unquote(urllib.parse.urlparse(one).path) if "://" in one or one.startswith("file:") else one
                  for one in (uri, top))
    base = base.rstrip("/")
    name = posixpath.relpath(path, base)
    folder = posixpath.dirname(name)
    return name, folder or posixpath.basename(base)


def _rows_of(uri: str, content: Optional[bytes], top: str, table: str) -> Any:
    """A trace's rows of a table; of left_out, why it has none."""
    pa = import_module("pyarrow")
    name, run = _names(uri, top)
    path, made = _local(uri), None
    try:
        if path is None:
            made = tempfile.NamedTemporaryFile(prefix="memtap-", suffix=".mtap")
            made.write(content or b"")
            made.flush()
            path = made.name
        try:
            rows = extract.read(path, name, run, ["runs"] if table == LEFT_OUT else [table])
        except (Problem, OSError, pa.ArrowException) as problem:
            return pa.table({"trace": [name], "reason": [extract.problem_of(problem, path)]}) if table == LEFT_OUT else None
        if table == LEFT_OUT:
            return None
        return pa.concat_tables([extract.schema(table).remove_metadata().empty_table(), rows[table]])
    finally:
        if made:
            made.close()


def traces(spark: Any, path: str, table: str) -> Any:
    """A table of all traces under a path that Spark reads, as a DataFrame. Where executors see the files themselves (a local
    or shared file system), they are read in place, with their tails; elsewhere Spark brings their content (of at most 2 GiB each)."""
    files = (spark.read.format("binaryFile").option("pathGlobFilter", "*.mtap").option("recursiveFileLookup", "true").load(path))
    in_place = urllib.parse.urlparse(path).scheme in ("", "file")
    chosen = files.select("path") if in_place else files.select("path", "content")
    top = os.path.abspath(path) if "://" not in path and not path.startswith("file:") else path

    def read(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for row in batch.to_pylist():
                made = _rows_of(row["path"], row.get("content"), top, table)
                if made is not None and made.num_rows:
                    yield from made.to_batches()

    # A file of a few kB costs as much as its replay: as many tasks as there are cores.
    tasks = max(spark.sparkContext.defaultParallelism * 4, 1)
    return chosen.repartition(tasks).mapInArrow(read, ddl(table))


def dataset(spark: Any, path: str, table: str) -> Any:
    """A table of a dataset, as a DataFrame."""
    wanted = extract.schema(table)
    errors = import_module("pyspark.errors")
    try:
        return spark.read.schema(ddl(table)).parquet(posixpath.join(path, table)).select(*wanted.names)
    except errors.AnalysisException as wrong:
        if wrong.getCondition() != "PATH_NOT_FOUND" or table == "runs":
            raise
        return spark.createDataFrame([], ddl(table))  # in a store of objects there is no folder without files


class SparkEngine:
    """An engine of the questions (fleet/questions.py)."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self.kept: list[Any] = []

    def give(self, name: str, frame: Any) -> None:
        # Made once, and without the plan that it was made by: plans of plans grow without end.
        kept = frame.localCheckpoint()
        self.kept.append(kept)
        kept.createOrReplaceTempView(name)

    def table(self, name: str, sql: str) -> None:
        self.give(name, self.spark.sql(sql))

    def rows(self, sql: str) -> list[dict[str, Any]]:
        return [row.asDict() for row in self.spark.sql(sql).collect()]

    def close(self) -> None:
        for frame in self.kept:
            frame.unpersist()


def ask(spark: Any, path: str, asked: Asked = Asked(), is_dataset: bool = False) -> Answers:
    """All questions of memtap fleet, about the traces under a path or about a dataset there. Problem: there is nothing to
    ask about."""
    engine = SparkEngine(spark)
    is_dataset = is_dataset or datasets.is_dataset(path)
    try:
        for table in extract.COMPARED:
            engine.give(table, dataset(spark, path, table) if is_dataset else traces(spark, path, table))
        if is_dataset:
            skipped = datasets.left_out(path) if datasets.is_dataset(path) else []
        else:
            skipped = sorted((row["trace"], row["reason"]) for row in traces(spark, path, LEFT_OUT).collect())
        return ask_engine(engine, asked, path, skipped)
    finally:
        engine.close()


def __getattr__(name: str) -> Any:
    """TraceSource, once it is asked for: it needs pyspark 4."""
    if name == "TraceSource":
        from .spark_source import TraceSource
        return TraceSource
    raise AttributeError(f"module 'memtap.spark' has no attribute {name!r}")
