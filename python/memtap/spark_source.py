# SPDX-License-Identifier: Apache-2.0
"""Traces as a Python data source of Spark 4 (spark.py). Paths are those that pyarrow.fs can read: local and shared ones, s3, gs,
hdfs and others by their URIs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from . import spark
from .command import Problem
from .fleet import extract

source: Any = import_module("pyspark.sql.datasource")

AT_ONCE = 16  # traces per task
ELSEWHERE = "elsewhere://"


class TraceSource(source.DataSource):  # type: ignore[misc]
    """Format "memtap". Options: path, table (runs, sites, growth, samples, blocks, stacks, events or left_out)."""

    @classmethod
    def name(cls) -> str:
        return "memtap"

    def _table(self) -> str:
        table: str = self.options.get("table", "runs")
        if table != spark.LEFT_OUT and table not in extract.ALL:
            raise Problem(f"unknown table '{table}'; use {', '.join(extract.ALL)} or {spark.LEFT_OUT}")
        return table

    def schema(self) -> str:
        return spark.ddl(self._table())

    def reader(self, schema: Any) -> Any:
        path = self.options.get("path", "")
        if not path:
            raise Problem("the format memtap needs a path: load(PATH)")
        return TraceReader(path, self._table())


class Some(source.InputPartition):  # type: ignore[misc]
    """Traces that one task reads."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(list(paths))
        self.paths = list(paths)


class TraceReader(source.DataSourceReader):  # type: ignore[misc]
    def __init__(self, path: str, table: str) -> None:
        self.path = path
        self.table = table

    def _opened(self) -> tuple[Any, str]:
        import os

        fs = import_module("pyarrow.fs")
        if "://" in self.path or self.path.startswith("file:"):
            system, top = fs.FileSystem.from_uri(self.path)
            return system, top
        return fs.LocalFileSystem(), os.path.abspath(self.path)

    def partitions(self) -> Sequence[Any]:
        fs = import_module("pyarrow.fs")
        system, top = self._opened()
        found = sorted(
            info.path
            for info in system.get_file_info(fs.FileSelector(top, recursive=True))
            if info.is_file and info.path.endswith(".mtap")
        )
        return [Some(found[i : i + AT_ONCE]) for i in range(0, len(found), AT_ONCE)] or [Some([])]

    def read(self, partition: Any) -> Iterator[Any]:
        system, top = self._opened()
        for one in spark._found(_rows_of(system, partition.paths), top if _is_local(system) else f"{ELSEWHERE}{top}"):
            rows = spark._rows(one, self.table)
            if rows is not None:
                yield from rows.to_batches()


def _is_local(system: Any) -> bool:
    return isinstance(system, import_module("pyarrow.fs").LocalFileSystem)


def _rows_of(system: Any, paths: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Traces in the form of Spark's binaryFile."""
    for path in paths:
        if _is_local(system):
            yield {"path": path}
            continue
        with system.open_input_file(path) as file:
            yield {"path": f"{ELSEWHERE}{path}", "content": file.read()}
